// Instances that were rented in place of others.

import { builder } from '../builder.ts'
import { selectionOf } from '../selection.ts'
import { Instance, instanceById } from './instances.ts'

const cause = 'because that one did not run in time. Null if there is none.'

builder.prismaObjectFields(Instance, t => ({
  replaces: t.field({
    type: Instance,
    nullable: true,
    description: `The instance that this one was rented in place of, ${cause}`,
    requires: 'instances.get',
    select: { replacesId: true },
    resolve: ({ replacesId }, _args, context, info) =>
      replacesId === null ? null : instanceById(context, selectionOf(context, info)).load(replacesId),
  }),
  replacedBy: t.field({
    type: Instance,
    nullable: true,
    description:
      'The instance that was rented in place of this one, because this one did not run in time. Null if there is none.',
    requires: 'instances.get',
    select: { replacedById: true },
    resolve: ({ replacedById = null }, _args, context, info) =>
      replacedById === null ? null : instanceById(context, selectionOf(context, info)).load(replacedById),
  }),
}))
