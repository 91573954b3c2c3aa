import { builder } from '../builder.ts'
import { parseId, printId } from '../ids.ts'
import { createSelectedLoader } from '../loader.ts'
import '../machines/machines.ts'
import { Node } from '../nodes/node.ts'
import { selectionOf } from '../selection.ts'

export const Volume = builder.prismaObject('Volume', {
  select: { id: true },
  description: "A part of a machine's disk that outlives the instances it is attached to.",
  interfaces: [Node],
  fields: t => ({
    id: t.id({
      description: 'ID of the volume, such as `vol_42`.',
      resolve: ({ id }) => printId('Volume', id),
    }),
    name: t.exposeString('name', { description: 'Name that the owner gave the volume.' }),
    sizeGb: t.float({
      description: 'Size of the volume in GB.',
      select: { sizeMb: true },
      resolve: ({ sizeMb }) => sizeMb / 1000,
    }),
    machine: t.relation('machine', {
      nullable: true,
      description:
        'Machine that holds the volume. It never changes; only instances on that machine can mount the volume. Null for a volume that belongs to no machine.',
    }),
    pricePerHour: t.expose('diskNanos', {
      type: 'Usd',
      description: 'Price per hour in US dollars, attached or not. Fixed when the volume is created.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the volume was created.' }),
  }),
})

export const volumeById = createSelectedLoader((context, ids: readonly bigint[], select) =>
  context.services.volumes.byIds(context.actor, ids, select),
)

builder.queryField('volume', t =>
  t.field({
    type: Volume,
    nullable: true,
    description: 'A volume of your account by ID. Null when it is deleted or your account has no such volume.',
    requires: 'volumes.get',
    args: { id: t.arg.id({ required: true, description: 'ID of the volume, such as `vol_42` or `42`.' }) },
    resolve: (_root, { id }, context, info) =>
      volumeById(context, selectionOf(context, info)).load(parseId('Volume', id)),
  }),
)
