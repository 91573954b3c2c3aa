import type { Instance as InstanceShape } from '../../domain/instances/instances.ts'
import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { parseId } from '../ids.ts'
import { idempotencyKey, replayed } from '../mutations.ts'
import { permissionSentence } from '../permission.ts'
import { Instance } from './instances.ts'

const RestartInstanceInput = builder.inputType('RestartInstanceInput', {
  description: 'The instance to reboot or recycle.',
  fields: t => ({
    id: t.id({ required: true, description: 'ID of the instance, such as `ins_42` or `42`.' }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

type RestartResult = { instance: InstanceShape; replayed: boolean }
const RestartInstanceSuccess = builder.objectRef<RestartResult>('RestartInstanceSuccess').implement({
  description: 'The restart is requested. The machine carries it out asynchronously.',
  fields: t => ({
    instance: t.expose('instance', { type: Instance, description: 'Current state of the instance.' }),
    replayed: t.exposeBoolean('replayed', replayed),
  }),
})

const { union: RestartInstanceResult, answer } = resultUnion(
  'RestartInstanceResult',
  'The instance, or the error that prevented the restart.',
  RestartInstanceSuccess,
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
    type: RestartInstanceResult,
    description: `Stops the container of a running instance and starts it again. The instance keeps its GPUs, ports and disk. The GPUs cost nothing while the container is down. Requests made before the instance runs again cause no second reboot. ${permissionSentence('instances.reboot')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: RestartInstanceInput, required: true, description: 'The instance to reboot.' }) },
    resolve: (_root, { input: { id, idempotencyKey } }, { services, actor }) =>
      answer({}, () => services.instances.reboot(actor, parseId('Instance', id), idempotencyKey)),
  }),
  recycleInstance: t.field({
    type: RestartInstanceResult,
    description: `Recreates the container of an instance from its image. The data on its disk is lost; volumes, GPUs and ports stay. Public ports for SSH are added if the SSH proxy is gone. The desired state does not change. Requests made before the instance runs again cause no second recycle. ${permissionSentence('instances.recycle')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: RestartInstanceInput, required: true, description: 'The instance to recycle.' }) },
    resolve: (_root, { input: { id, idempotencyKey } }, { services, actor }) =>
      answer({}, () => services.instances.recycle(actor, parseId('Instance', id), idempotencyKey)),
  }),
}))
