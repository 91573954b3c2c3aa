import type { Volume as VolumeShape } from '../../domain/volumes/volumes.ts'
import { builder } from '../builder.ts'
import { parseId, printId } from '../ids.ts'
import { createLoader } from '../loader.ts'
import { Machine } from '../machines/machines.ts'
import { Node } from '../nodes/node.ts'

export const Volume = builder.objectRef<VolumeShape>('Volume').implement({
  description: "A part of a machine's disk that outlives the instances it is attached to.",
  interfaces: [Node],
  fields: t => ({
    id: t.id({
      description: 'ID of the volume, such as `vol_42`.',
      resolve: ({ id }) => printId('Volume', id),
    }),
    name: t.exposeString('name', { description: 'Name that the owner gave the volume.' }),
    sizeGb: t.float({ description: 'Size of the volume in GB.', resolve: ({ sizeMb }) => sizeMb / 1000 }),
    machine: t.field({
      type: Machine,
      nullable: true,
      description:
        'Machine that holds the volume. It never changes; only instances on that machine can mount the volume. Null for a volume that belongs to no machine.',
      resolve: ({ machine }) => machine,
    }),
    pricePerHour: t.expose('diskNanos', {
      type: 'Usd',
      description: 'Price per hour in US dollars, attached or not. Fixed when the volume is created.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the volume was created.' }),
  }),
})

export const volumeById = createLoader((context, ids: readonly bigint[]) =>
  context.services.volumes.byIds(context.actor, ids),
)

builder.queryField('volume', t =>
  t.field({
    type: Volume,
    nullable: true,
    description: 'A volume of your account by ID. Null when it is deleted or your account has no such volume.',
    requires: 'volumes.get',
    args: { id: t.arg.id({ required: true, description: 'ID of the volume, such as `vol_42` or `42`.' }) },
    resolve: (_root, { id }, context) => volumeById(context).load(parseId('Volume', id)),
  }),
)
