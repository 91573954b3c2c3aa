import { authorize } from '../../services/authorize.ts'
import { builder } from '../builder.ts'
import { Instance, instanceById } from '../instances/instances.ts'
import { isRead, selectionOf } from '../selection.ts'
import { Volume, volumeById } from './volumes.ts'

const VolumeAttachment = builder.prismaObject('VolumeAttachment', {
  select: { volumeId: true },
  description: 'A volume mounted in an instance. The attachment lasts until the container of the instance is removed.',
  fields: t => ({
    volume: t.field({
      type: Volume,
      nullable: true,
      description: 'The mounted volume.',
      requires: 'volumes.get',
      select: (_args, _context, nestedSelection) => ({ volume: nestedSelection() }),
      resolve: (attachment, _args, context, info) => {
        const { volumeId } = attachment
        authorize(context.actor, 'volumes.get', { id: Number(volumeId) })
        if (isRead(attachment, 'volume')) return attachment.volume
        return volumeById(context, selectionOf(context, info)).load(volumeId)
      },
    }),
    instance: t.field({
      type: Instance,
      nullable: true,
      description: 'The instance that uses the volume.',
      requires: 'instances.get',
      select: { instanceId: true },
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
    select: (_args, _context, nestedSelection) => ({ volumes: nestedSelection() }),
    // A row that was read whole has no id of itself in its attachments.
    resolve: ({ id: instanceId, volumes }) => volumes.map(attachment => ({ ...attachment, instanceId })),
  }),
)
