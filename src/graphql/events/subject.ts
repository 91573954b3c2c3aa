import { subjectOf } from '../../domain/events/subject.ts'
import { builder } from '../builder.ts'
import { printId } from '../ids.ts'
import { Node } from '../nodes/node.ts'
import { loadNode } from '../nodes/nodes.ts'
import { Event } from './events.ts'

const subjectColumns = { subjectType: true, subjectId: true } as const

builder.prismaObjectFields(Event, t => ({
  subjectId: t.id({
    description:
      'ID of what the event is about, such as `ins_42`, `vol_42` or `tpl_42`. The ID of the account if the event is about its credit, its quotas or its secret variables.',
    select: subjectColumns,
    resolve: ({ subjectType, subjectId }) => printId(subjectType, subjectId),
  }),
  subject: t.field({
    type: Node,
    nullable: true,
    description:
      'What the event is about, in its current state. Null if it is gone, or if this API key may not read it. Needs the permission to read the item.',
    select: subjectColumns,
    resolve: (event, _args, context, info) => loadNode(subjectOf(event), context, info),
  }),
}))
