import { type Volume as VolumeShape, volumeSizeGb } from '../../domain/volumes/volumes.ts'
import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { parseId } from '../ids.ts'
import { DeleteSuccess } from '../inputs/deletion.ts'
import { idempotencyKey, replayed } from '../inputs/idempotency.ts'
import { permissionSentence } from '../permission.ts'
import { Volume } from './volumes.ts'

const CreateVolumeInput = builder.inputType('CreateVolumeInput', {
  description: 'A volume, and the storage that it is made of.',
  fields: t => ({
    offerId: t.id({ required: true, description: 'The storage offer, such as `vof_42`, or `42`.' }),
    sizeGb: t.float({ required: true, description: `Its size in GB, at least ${volumeSizeGb.least}.` }),
    name: t.string({ description: 'At most 64 letters, digits, _ and -. `volume` when absent.' }),
    maxPricePerHour: t.field({
      type: 'Usd',
      description: 'Refuse when it costs more than this. Any price is taken when absent.',
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

type CreatedVolume = { volume: VolumeShape; replayed: boolean }
const CreateVolumeSuccess = builder.objectRef<CreatedVolume>('CreateVolumeSuccess').implement({
  description: 'The volume was made.',
  fields: t => ({
    volume: t.expose('volume', { type: Volume, description: 'The volume.' }),
    replayed: t.exposeBoolean('replayed', replayed),
  }),
})

const createResult = resultUnion('CreateVolumeResult', 'A volume, or why there is none.', CreateVolumeSuccess, [
  'INVALID_INPUT',
  'OFFER_UNAVAILABLE',
  'PRICE_CHANGED',
  'INSUFFICIENT_CREDIT',
  'SPEND_LIMIT_EXCEEDED',
  'QUOTA_EXCEEDED',
  'IDEMPOTENCY_KEY_REUSED',
  'IDEMPOTENCY_IN_PROGRESS',
])

const DeleteVolumeInput = builder.inputType('DeleteVolumeInput', {
  description: 'Which volume is deleted.',
  fields: t => ({ id: t.id({ required: true, description: 'Such as `vol_42`, or `42`.' }) }),
})

const deleteResult = resultUnion('DeleteVolumeResult', 'What was deleted, or why nothing was.', DeleteSuccess, [
  'INVALID_INPUT',
  'NOT_FOUND',
  'VOLUME_UNAVAILABLE',
])

builder.mutationFields(t => ({
  createVolume: t.field({
    type: createResult.union,
    description: `Makes a volume that instances on its machine can have. ${permissionSentence('volumes.create')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: CreateVolumeInput, required: true, description: 'What is wanted.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      createResult.answer({}, async () => {
        const { offerId, sizeGb, name, maxPricePerHour, idempotencyKey } = input
        return await services.volumes.create(actor, {
          machineId: Number(parseId('VolumeOffer', offerId, 'offerId')),
          sizeGb,
          name: name ?? undefined,
          maxPriceNanos: maxPricePerHour ?? undefined,
          idempotencyKey,
        })
      }),
  }),
  deleteVolume: t.field({
    type: deleteResult.union,
    description: `Deletes a volume that no instance has, with all that is in it. ${permissionSentence('volumes.delete')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: DeleteVolumeInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      deleteResult.answer({}, async () => {
        const id = parseId('Volume', input.id)
        await services.volumes.delete(actor, id)
        return { type: 'Volume' as const, deletedId: id }
      }),
  }),
}))
