import type { Volume as VolumeShape } from '../../domain/volumes/volumes.ts'
import { builder } from '../builder.ts'
import { parseId, printId } from '../ids.ts'
import { createLoader } from '../loader.ts'
import { Machine } from '../machines/machines.ts'
import { Node } from '../nodes/node.ts'
import { permissionSentence } from '../permission.ts'

export const Volume = builder.objectRef<VolumeShape>('Volume').implement({
  description: "A part of a machine's disk that outlives the instances that use it.",
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'Starts with `vol_`.', resolve: ({ id }) => printId('Volume', id) }),
    name: t.exposeString('name', { description: 'What its owner calls it.' }),
    sizeGb: t.float({ description: 'Its size in GB.', resolve: ({ sizeMb }) => sizeMb / 1000 }),
    machine: t.field({
      type: Machine,
      description: 'The machine that it is on, for life. Only instances there can have it.',
      resolve: ({ machine }) => machine,
    }),
    pricePerHour: t.expose('diskNanos', {
      type: 'Usd',
      description: 'What it costs, attached or not, as agreed when it was made.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
  }),
})

export const volumeById = createLoader((context, ids: readonly bigint[]) =>
  context.services.volumes.byIds(context.actor, ids),
)

builder.queryField('volume', t =>
  t.field({
    type: Volume,
    nullable: true,
    description: `One of the account's volumes by its id. Null when it is deleted, and for anybody else's. ${permissionSentence('volumes.get')}`,
    args: { id: t.arg.id({ required: true, description: 'Such as `vol_42`, or `42`.' }) },
    resolve: (_root, { id }, context) => volumeById(context).load(parseId('Volume', id)),
  }),
)
