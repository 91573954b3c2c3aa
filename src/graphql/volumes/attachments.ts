import { builder } from '../builder.ts'
import { Instance, instanceById } from '../instances/instances.ts'
import { selectionOf } from '../selection.ts'
import { Volume, volumeById } from './volumes.ts'

type Attachment = { volumeId: bigint; instanceId: bigint; mountPath: string }

const VolumeAttachment = builder.objectRef<Attachment>('VolumeAttachment').implement({
  description: 'A volume mounted in an instance. The attachment lasts until the container of the instance is removed.',
  fields: t => ({
    volume: t.field({
      type: Volume,
      nullable: true,
      description: 'The mounted volume.',
      requires: 'volumes.get',
      resolve: ({ volumeId }, _args, context, info) => volumeById(context, selectionOf(context, info)).load(volumeId),
    }),
    instance: t.field({
      type: Instance,
      nullable: true,
      description: 'The instance that uses the volume.',
      requires: 'instances.get',
      resolve: ({ instanceId }, _args, context, info) =>
        instanceById(context, selectionOf(context, info)).load(instanceId),
    }),
    mountPath: t.exposeString('mountPath', { description: 'Path of the volume in the instance.' }),
  }),
})

builder.prismaObjectField(Volume, 'attachment', t =>
  t.field({
    type: VolumeAttachment,
    nullable: true,
    description:
      'Instance and path that the volume is attached to. A destroyed instance keeps the volume until its removal has finished. Null when the volume is free.',
    select: { attachment: true },
    resolve: ({ id: volumeId, attachment }) => attachment && { volumeId, ...attachment },
  }),
)

builder.prismaObjectField(Instance, 'volumes', t =>
  t.field({
    type: [VolumeAttachment],
    description: 'Volumes of the instance, sorted by path. Empty once the instance is destroyed.',
    select: { volumes: true },
    resolve: ({ id: instanceId, volumes }) => volumes.map(mount => ({ instanceId, ...mount })),
  }),
)
