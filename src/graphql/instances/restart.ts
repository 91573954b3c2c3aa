import type { Instance as InstanceShape } from '../../domain/instances/instances.ts'
import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { parseId } from '../ids.ts'
import { idempotencyKey, replayed } from '../inputs/idempotency.ts'
import { permissionSentence } from '../permission.ts'
import { Instance } from './instances.ts'

const RestartInstanceInput = builder.inputType('RestartInstanceInput', {
  description: 'Which instance is started anew.',
  fields: t => ({
    id: t.id({ required: true, description: 'Such as `ins_42`, or `42`.' }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

type RestartResult = { instance: InstanceShape; replayed: boolean }
const RestartInstanceSuccess = builder.objectRef<RestartResult>('RestartInstanceSuccess').implement({
  description: 'It was asked for, and happens as soon as its machine gets to it.',
  fields: t => ({
    instance: t.expose('instance', { type: Instance, description: 'The instance as it is now.' }),
    replayed: t.exposeBoolean('replayed', replayed),
  }),
})

const { union: RestartInstanceResult, answer } = resultUnion(
  'RestartInstanceResult',
  'The instance, or why it goes on as it is.',
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
    description: `Stops the container of a running instance, and starts it again: its GPUs, ports and disk stay its own. While it is down the GPUs cost nothing. Asked again before it runs again, it is done once. ${permissionSentence('instances.reboot')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: RestartInstanceInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input: { id, idempotencyKey } }, { services, actor }) =>
      answer({}, () => services.instances.reboot(actor, parseId('Instance', id), idempotencyKey)),
  }),
  recycleInstance: t.field({
    type: RestartInstanceResult,
    description: `Makes the container of an instance anew from its image: what is on its disk is lost, volumes stay. Its GPUs and ports stay its own, what it lacks for SSH without a proxy is added, and it runs or is stopped as before. Asked again before it runs again, it is done once. ${permissionSentence('instances.recycle')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: RestartInstanceInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input: { id, idempotencyKey } }, { services, actor }) =>
      answer({}, () => services.instances.recycle(actor, parseId('Instance', id), idempotencyKey)),
  }),
}))
