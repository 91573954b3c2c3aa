import { builder } from '../builder.ts'
import { Instance, instanceById } from '../instances/instances.ts'
import { permissionSentence } from '../permission.ts'
import { Volume, volumeById } from './volumes.ts'

type Attachment = { volumeId: bigint; instanceId: bigint; mountPath: string }

const VolumeAttachment = builder.objectRef<Attachment>('VolumeAttachment').implement({
  description: 'A volume in an instance. It ends when the container of the instance is gone.',
  fields: t => ({
    volume: t.field({
      type: Volume,
      nullable: true,
      description: `The volume. ${permissionSentence('volumes.get')}`,
      resolve: ({ volumeId }, _args, context) => volumeById(context).load(volumeId),
    }),
    instance: t.field({
      type: Instance,
      nullable: true,
      description: `The instance. ${permissionSentence('instances.get')}`,
      resolve: ({ instanceId }, _args, context) => instanceById(context).load(instanceId),
    }),
    mountPath: t.exposeString('mountPath', { description: 'Where it is in the instance.' }),
  }),
})

builder.objectField(Volume, 'attachment', t =>
  t.field({
    type: VolumeAttachment,
    nullable: true,
    description: 'Where it is attached, also while a destroyed instance is being removed. Null when it is free.',
    resolve: ({ id: volumeId, attachment }) => attachment && { volumeId, ...attachment },
  }),
)

builder.objectField(Instance, 'volumes', t =>
  t.field({
    type: [VolumeAttachment],
    description: 'The volumes that it has, by their paths. None once it is destroyed.',
    resolve: ({ id: instanceId, volumes }) => volumes.map(mount => ({ instanceId, ...mount })),
  }),
)
