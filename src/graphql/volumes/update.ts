import { invalidInput } from '../../domain/errors.ts'
import { type Volume as VolumeShape, volumeSizeGb } from '../../domain/volumes/volumes.ts'
import { builder } from '../builder.ts'
import { deleteResult, mutationResult } from '../errors/mutation-result.ts'
import { parseId } from '../ids.ts'
import { blankNameIssues, idempotencyKey, refuseNull, replayed } from '../mutations.ts'
import { Volume } from './volumes.ts'

const CreateVolumeInput = builder.inputType('CreateVolumeInput', {
  description: 'A volume to create, and the volume offer to take the disk space from.',
  fields: t => ({
    offerId: t.id({ required: true, description: 'ID of the volume offer, such as `vof_42` or `42`.' }),
    sizeGb: t.float({ required: true, description: `Size of the volume in GB, at least ${volumeSizeGb.least}.` }),
    name: t.string({ description: 'Name of the volume: 1-64 letters, digits, _ and -. Defaults to `volume`.' }),
    maxPricePerHour: t.field({
      type: 'Usd',
      description:
        'Refuse the request if the volume costs more than this per hour, in US dollars. If absent or null, any price is accepted.',
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

type CreatedVolume = { volume: VolumeShape; replayed: boolean }
const createResult = mutationResult<CreatedVolume>('createVolume', {
  description: 'The new volume, or the error that prevented its creation.',
  success: {
    description: 'The volume was created.',
    fields: t => ({
      volume: t.expose('volume', {
        type: Volume,
        description: 'The new volume. A replayed answer shows it as it is now.',
      }),
      replayed: t.exposeBoolean('replayed', replayed),
    }),
  },
  errors: [
    'INVALID_INPUT',
    'OFFER_UNAVAILABLE',
    'PRICE_CHANGED',
    'INSUFFICIENT_CREDIT',
    'SPEND_LIMIT_EXCEEDED',
    'QUOTA_EXCEEDED',
    'IDEMPOTENCY_KEY_REUSED',
    'IDEMPOTENCY_IN_PROGRESS',
  ],
})

const UpdateVolumeInput = builder.inputType('UpdateVolumeInput', {
  description: 'Changes to a volume.',
  fields: t => ({
    id: t.id({ required: true, description: 'ID of the volume to change, such as `vol_42` or `42`.' }),
    name: t.string({
      description: 'Name of the volume: 1-64 letters, digits, _ and -. If absent, it stays; null is refused.',
    }),
  }),
})

const updateResult = mutationResult<{ volume: VolumeShape }>('updateVolume', {
  description: 'The changed volume, or the error that prevented the change.',
  success: {
    description: 'The volume has the given name.',
    fields: t => ({ volume: t.expose('volume', { type: Volume, description: 'The volume after the change.' }) }),
  },
  errors: ['INVALID_INPUT', 'NOT_FOUND'],
})

const DeleteVolumeInput = builder.inputType('DeleteVolumeInput', {
  description: 'The volume to delete.',
  fields: t => ({ id: t.id({ required: true, description: 'ID of the volume, such as `vol_42` or `42`.' }) }),
})

const deletionResult = deleteResult('Volume', 'volume', ['INVALID_INPUT', 'NOT_FOUND', 'VOLUME_UNAVAILABLE'])

builder.mutationFields(t => ({
  createVolume: t.field({
    type: createResult.union,
    description: 'Creates a volume on a machine. Only instances on that machine can mount it.',
    requires: 'volumes.create',
    complexity: { field: 20 },
    args: { input: t.arg({ type: CreateVolumeInput, required: true, description: 'The volume to create.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      createResult.answer({}, async () => {
        const { offerId, sizeGb, name, maxPricePerHour, idempotencyKey } = input
        return await services.volumes.create(actor, {
          machineId: Number(parseId('VolumeOffer', offerId, 'offerId')),
          sizeGb,
          name: name ?? undefined,
          maxPriceNanos: maxPricePerHour ?? undefined,
          idempotencyKey,
          parseIssues: blankNameIssues({ name }),
        })
      }),
  }),
  updateVolume: t.field({
    type: updateResult.union,
    description: 'Changes the name of a volume. Instances that have the volume do not notice.',
    requires: 'volumes.update',
    complexity: { field: 20 },
    args: { input: t.arg({ type: UpdateVolumeInput, required: true, description: 'The volume and its changes.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      updateResult.answer({}, async () => {
        const id = parseId('Volume', input.id)
        const issues = [...refuseNull({ name: input.name }), ...blankNameIssues({ name: input.name })]
        if (issues.length > 0) throw invalidInput(issues)
        return { volume: await services.volumes.update(actor, id, { name: input.name ?? undefined }) }
      }),
  }),
  deleteVolume: t.field({
    type: deletionResult.union,
    description:
      'Deletes a volume and all its data. The volume must not be attached to an instance, unless the instance is destroyed.',
    requires: 'volumes.delete',
    complexity: { field: 20 },
    args: { input: t.arg({ type: DeleteVolumeInput, required: true, description: 'The volume to delete.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      deletionResult.answer({}, async () => {
        const id = parseId('Volume', input.id)
        await services.volumes.delete(actor, id)
        return { deletedId: id }
      }),
  }),
}))
