import {
  maxAttempts,
  maxWebhooks,
  oldSecretHours,
  type WebhookDelivery as WebhookDeliveryShape,
} from '../../domain/webhooks/webhooks.ts'
import type { WebhookWithSecret } from '../../services/webhooks/update.ts'
import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { EventTypeEnum } from '../events/types.ts'
import { parseId } from '../ids.ts'
import { DeleteSuccess } from '../inputs/deletion.ts'
import { idempotencyKey, replayed } from '../inputs/idempotency.ts'
import { permissionSentence } from '../permission.ts'
import { Webhook, WebhookDelivery } from './webhooks.ts'

const idField = { required: true, description: 'Such as `whk_42`, or `42`.' } as const

const CreateWebhookInput = builder.inputType('CreateWebhookInput', {
  description: 'Which events are sent where.',
  fields: t => ({
    url: t.string({
      required: true,
      description:
        'What events are posted to: `https://…`, on a host that can be reached from anywhere. Without user name, password and fragment.',
    }),
    types: t.field({
      type: [EventTypeEnum],
      required: true,
      description: 'Which events are sent, at least one type. The key must be allowed to read all events of each.',
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const TestWebhookInput = builder.inputType('TestWebhookInput', {
  description: 'Which webhook is tested.',
  fields: t => ({ id: t.id(idField) }),
})

const RotateWebhookSecretInput = builder.inputType('RotateWebhookSecretInput', {
  description: 'Which webhook gets a new secret.',
  fields: t => ({ id: t.id(idField), idempotencyKey: t.string(idempotencyKey) }),
})

const DeleteWebhookInput = builder.inputType('DeleteWebhookInput', {
  description: 'Which webhook is deleted.',
  fields: t => ({ id: t.id(idField) }),
})

function successType(name: string, description: string) {
  return builder.objectRef<WebhookWithSecret>(name).implement({
    description,
    fields: t => ({
      webhook: t.expose('webhook', { type: Webhook, description: 'The webhook. Repetitions show it as it was then.' }),
      secret: t.exposeString('secret', {
        description: 'What deliveries are signed with. It cannot be shown again: keep it where nobody reads it.',
      }),
      replayed: t.exposeBoolean('replayed', replayed),
    }),
  })
}

const createResult = resultUnion(
  'CreateWebhookResult',
  'A webhook with its secret, or why there is none.',
  successType('CreateWebhookSuccess', 'The webhook was made. What happens from now on is sent.'),
  ['INVALID_INPUT', 'CONFLICT', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
)
const rotateResult = resultUnion(
  'RotateWebhookSecretResult',
  'The webhook with its new secret, or why it has none.',
  successType('RotateWebhookSecretSuccess', 'The webhook has a new secret.'),
  ['INVALID_INPUT', 'NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
)
const TestWebhookSuccess = builder.objectRef<{ delivery: WebhookDeliveryShape }>('TestWebhookSuccess').implement({
  description: 'A test is on its way.',
  fields: t => ({
    delivery: t.expose('delivery', {
      type: WebhookDelivery,
      description: 'The test, before it was tried. What came of it is told by `recentDeliveries` of the webhook.',
    }),
  }),
})
const testResult = resultUnion('TestWebhookResult', 'A test, or why there is none.', TestWebhookSuccess, [
  'INVALID_INPUT',
  'NOT_FOUND',
])
const deleteResult = resultUnion('DeleteWebhookResult', 'What was deleted, or why nothing was.', DeleteSuccess, [
  'INVALID_INPUT',
  'NOT_FOUND',
])

const parseWebhookId = (written: string) => Number(parseId('Webhook', written))

builder.mutationFields(t => ({
  createWebhook: t.field({
    type: createResult.union,
    description: `Sends events of the account to a URL from now on, signed; what does not arrive is tried ${maxAttempts} times. An account has at most ${maxWebhooks} webhooks. ${permissionSentence('webhooks.create')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: CreateWebhookInput, required: true, description: 'What is sent where.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      createResult.answer({}, () => services.webhooks.create(actor, input)),
  }),
  testWebhook: t.field({
    type: testResult.union,
    description: `Sends an event \`WEBHOOK_TESTED\` to one webhook, whichever types it was made for. ${permissionSentence('webhooks.test')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: TestWebhookInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      testResult.answer({}, async () => ({ delivery: await services.webhooks.test(actor, parseWebhookId(input.id)) })),
  }),
  rotateWebhookSecret: t.field({
    type: rotateResult.union,
    description: `Gives a webhook a new secret. The one before signs beside it for ${oldSecretHours} hours. Only for a key that may read all that is sent. ${permissionSentence('webhooks.rotate')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: RotateWebhookSecretInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      rotateResult.answer({}, () => services.webhooks.rotate(actor, parseWebhookId(input.id), input.idempotencyKey)),
  }),
  deleteWebhook: t.field({
    type: deleteResult.union,
    description: `Sends nothing more to a webhook, also not what is still to be tried. ${permissionSentence('webhooks.delete')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: DeleteWebhookInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      deleteResult.answer({}, async () => {
        const deletedId = parseWebhookId(input.id)
        await services.webhooks.delete(actor, deletedId)
        return { type: 'Webhook' as const, deletedId }
      }),
  }),
}))
