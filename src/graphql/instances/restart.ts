import type { Instance as InstanceShape } from '../../domain/instances/instances.ts'
import { builder } from '../builder.ts'
import type { RefusalCode } from '../errors/codes.ts'
import { mutationResult } from '../errors/mutation-result.ts'
import { parseId } from '../ids.ts'
import { idempotencyKey, replayed } from '../mutations.ts'
import { Instance } from './instances.ts'

const inputFields = {
  id: { required: true, description: 'ID of the instance, such as `ins_42` or `42`.' },
  idempotencyKey,
} as const

const RebootInstanceInput = builder.inputType('RebootInstanceInput', {
  description: 'The instance to reboot.',
  fields: t => ({ id: t.id(inputFields.id), idempotencyKey: t.string(inputFields.idempotencyKey) }),
})

const RecycleInstanceInput = builder.inputType('RecycleInstanceInput', {
  description: 'The instance to recycle.',
  fields: t => ({ id: t.id(inputFields.id), idempotencyKey: t.string(inputFields.idempotencyKey) }),
})

function restartResult(mutation: string, description: string, done: string, errors: readonly RefusalCode[]) {
  return mutationResult<{ instance: InstanceShape; replayed: boolean }>(mutation, {
    description,
    success: {
      description: done,
      fields: t => ({
        instance: t.expose('instance', {
          type: Instance,
          description: 'Current state of the instance.',
        }),
        replayed: t.exposeBoolean('replayed', replayed),
      }),
    },
    errors,
  })
}

const rebootResult = restartResult(
  'rebootInstance',
  'The instance, or the error that prevented the reboot.',
  'The reboot is requested. The machine carries it out asynchronously.',
  ['INVALID_INPUT', 'NOT_FOUND', 'INVALID_STATE', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
)
const recycleResult = restartResult(
  'recycleInstance',
  'The instance, or the error that prevented the recycle.',
  'The recycle is requested. The machine carries it out asynchronously.',
  [
    'INVALID_INPUT',
    'NOT_FOUND',
    'INVALID_STATE',
    'INSUFFICIENT_CREDIT',
    'QUOTA_EXCEEDED',
    'START_BACKOFF',
    'IDEMPOTENCY_KEY_REUSED',
    'IDEMPOTENCY_IN_PROGRESS',
  ],
)

builder.mutationFields(t => ({
  rebootInstance: t.field({
    type: rebootResult.union,
    description:
      'Stops the container of a running instance and starts it again. The instance keeps its GPUs, ports and disk. The GPUs cost nothing while the container is down. A request changes nothing if a restart is under way already, and is refused while the instance starts.',
    requires: 'instances.reboot',
    complexity: { field: 20 },
    args: { input: t.arg({ type: RebootInstanceInput, required: true, description: 'The instance to reboot.' }) },
    resolve: (_root, { input: { id, idempotencyKey } }, { services, actor }) =>
      rebootResult.answer({}, () => services.instances.reboot(actor, parseId('Instance', id), idempotencyKey)),
  }),
  recycleInstance: t.field({
    type: recycleResult.union,
    description:
      'Recreates the container of an instance from its image. The data on its disk is lost; volumes, GPUs and ports stay. Public ports for SSH are added if the SSH proxy is gone. The desired state does not change. Requests made before the instance runs again cause no second recycle.',
    requires: 'instances.recycle',
    complexity: { field: 20 },
    args: { input: t.arg({ type: RecycleInstanceInput, required: true, description: 'The instance to recycle.' }) },
    resolve: (_root, { input: { id, idempotencyKey } }, { services, actor }) =>
      recycleResult.answer({}, () => services.instances.recycle(actor, parseId('Instance', id), idempotencyKey)),
  }),
}))
