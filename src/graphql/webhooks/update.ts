import { maxAttempts, maxWebhookNameLength, maxWebhooks, oldSecretHours } from '../../domain/webhooks/webhooks.ts'
import { builder } from '../builder.ts'
import type { RefusalCode } from '../errors/codes.ts'
import { deleteResult, mutationResult } from '../errors/mutation-result.ts'
import { EventKindEnum } from '../events/kinds.ts'
import { parseId } from '../ids.ts'
import { idempotencyKey, refuseNull, replayed } from '../mutations.ts'
import { selectionOf } from '../selection.ts'
import { Webhook, WebhookDelivery } from './webhooks.ts'

const idField = { required: true, description: 'ID of the webhook, such as `whk_42` or `42`.' } as const

const inputDescriptions = {
  name: `Name of the webhook, 1-${maxWebhookNameLength} characters, not blank. Several webhooks can have the same name.`,
  url: 'URL to post events to: `https://…` on a public host, without user name, password or fragment.',
  kinds: 'Kinds of the events to send, at least one. The API key must be allowed to read all events of these kinds.',
}

const CreateWebhookInput = builder.inputType('CreateWebhookInput', {
  description: 'A new webhook: its URL and the kinds of events to send.',
  fields: t => ({
    name: t.string({
      description: `${inputDescriptions.name} If absent or null, the webhook is called by its ID.`,
    }),
    url: t.string({ required: true, description: inputDescriptions.url }),
    kinds: t.field({ type: [EventKindEnum], required: true, description: inputDescriptions.kinds }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const UpdateWebhookInput = builder.inputType('UpdateWebhookInput', {
  description: 'Changes to a webhook. Absent fields stay as they are, and so does its secret.',
  fields: t => ({
    id: t.id({ required: true, description: 'ID of the webhook to change, such as `whk_42` or `42`.' }),
    name: t.string({
      description: `${inputDescriptions.name} If absent, it stays; null removes it: the webhook is called by its ID.`,
    }),
    url: t.string({ description: `${inputDescriptions.url} If absent, it stays; null is refused.` }),
    kinds: t.field({
      type: [EventKindEnum],
      description: `${inputDescriptions.kinds} The list replaces all kinds. If absent, they stay; null is refused.`,
    }),
  }),
})

const TestWebhookInput = builder.inputType('TestWebhookInput', {
  description: 'The webhook to test.',
  fields: t => ({ id: t.id(idField) }),
})

const RotateWebhookSecretInput = builder.inputType('RotateWebhookSecretInput', {
  description: 'The webhook that gets a new secret.',
  fields: t => ({ id: t.id(idField), idempotencyKey: t.string(idempotencyKey) }),
})

const DeleteWebhookInput = builder.inputType('DeleteWebhookInput', {
  description: 'The webhook to delete.',
  fields: t => ({ id: t.id(idField) }),
})

function secretResult(mutation: string, description: string, done: string, errors: readonly RefusalCode[]) {
  return mutationResult<{ webhook: { id: number }; secret: string; replayed: boolean }>(mutation, {
    description,
    success: {
      description: done,
      fields: t => ({
        webhook: t.expose('webhook', {
          type: Webhook,
          description: 'The webhook. A replayed answer shows it as it is now.',
        }),
        secret: t.exposeString('secret', {
          description:
            'Secret that signs the deliveries, in the format of Standard Webhooks. It is shown only in this answer and its replays, until it is rotated: store it safely.',
        }),
        replayed: t.exposeBoolean('replayed', replayed),
      }),
    },
    errors,
  })
}

const createResult = secretResult(
  'createWebhook',
  'The new webhook with its secret, or why none was created.',
  'The webhook was created. Events from now on are sent to it.',
  ['INVALID_INPUT', 'CONFLICT', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
)
const updateResult = mutationResult<{ webhook: { id: number } }>('updateWebhook', {
  description: 'The changed webhook, or why it did not change.',
  success: {
    description: 'The webhook has the given settings. Its secret is the same.',
    fields: t => ({ webhook: t.expose('webhook', { type: Webhook, description: 'The webhook after the change.' }) }),
  },
  errors: ['INVALID_INPUT', 'NOT_FOUND'],
})
const rotateResult = secretResult(
  'rotateWebhookSecret',
  'The webhook with its new secret, or why its secret did not change.',
  'The webhook has a new secret.',
  ['INVALID_INPUT', 'NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
)
const testResult = mutationResult<{ delivery: { id: bigint } }>('testWebhook', {
  description: 'The delivery of the test event, or why none was queued.',
  success: {
    description: 'A test event was queued for the webhook.',
    fields: t => ({
      delivery: t.expose('delivery', {
        type: WebhookDelivery,
        description:
          'The delivery of the test event, before its first attempt. Read `recentDeliveries` of the webhook for its outcome.',
      }),
    }),
  },
  errors: ['INVALID_INPUT', 'NOT_FOUND'],
})
const deletionResult = deleteResult('Webhook', 'webhook', ['INVALID_INPUT', 'NOT_FOUND'])

const parseWebhookId = (id: string) => Number(parseId('Webhook', id))

builder.mutationFields(t => ({
  createWebhook: t.field({
    type: createResult.union,
    description: `Creates a webhook: from now on, events of the account are signed and posted to a URL. Each delivery is tried at most ${maxAttempts} times. An account has at most ${maxWebhooks} webhooks.`,
    requires: 'webhooks.create',
    complexity: { field: 20 },
    args: { input: t.arg({ type: CreateWebhookInput, required: true, description: 'The webhook to create.' }) },
    resolve: (_root, { input }, context, info) =>
      createResult.answer({}, () => {
        const select = selectionOf(context, info, { of: { type: 'CreateWebhookSuccess', name: 'webhook' } })
        return context.services.webhooks.create(context.actor, input, select)
      }),
  }),
  updateWebhook: t.field({
    type: updateResult.union,
    description:
      'Changes the URL, the kinds or the name of a webhook, which keeps its secret. An attempt in progress ends at the old URL; all later attempts, also of earlier events, go to the new URL. Pending deliveries of kinds that were removed are given up. To change the URL or the kinds, the API key must be allowed to read all events that the webhook gets afterwards.',
    requires: 'webhooks.update',
    complexity: { field: 20 },
    args: { input: t.arg({ type: UpdateWebhookInput, required: true, description: 'The webhook and its changes.' }) },
    resolve: (_root, { input }, context, info) =>
      updateResult.answer({}, async () => {
        const { id, name, url, kinds } = input
        const webhookId = parseWebhookId(id)
        const parseIssues = refuseNull({ url, kinds })
        const change = { name, url: url ?? undefined, kinds: kinds ?? undefined, parseIssues }
        const select = selectionOf(context, info, { of: { type: 'UpdateWebhookSuccess', name: 'webhook' } })
        return { webhook: await context.services.webhooks.update(context.actor, webhookId, change, select) }
      }),
  }),
  testWebhook: t.field({
    type: testResult.union,
    description: 'Sends an event `WEBHOOK_TESTED` to one webhook, even if its `kinds` do not include it.',
    requires: 'webhooks.test',
    complexity: { field: 20 },
    args: { input: t.arg({ type: TestWebhookInput, required: true, description: 'The webhook to test.' }) },
    resolve: (_root, { input }, context, info) =>
      testResult.answer({}, async () => {
        const select = selectionOf(context, info, { of: { type: 'TestWebhookSuccess', name: 'delivery' } })
        return { delivery: await context.services.webhooks.test(context.actor, parseWebhookId(input.id), select) }
      }),
  }),
  rotateWebhookSecret: t.field({
    type: rotateResult.union,
    description: `Gives a webhook a new secret. For ${oldSecretHours} hours, deliveries are signed with the previous secret too. The API key must be allowed to read all events that the webhook gets.`,
    requires: 'webhooks.rotate',
    complexity: { field: 20 },
    args: {
      input: t.arg({
        type: RotateWebhookSecretInput,
        required: true,
        description: 'The webhook that gets a new secret.',
      }),
    },
    resolve: (_root, { input: { id, idempotencyKey } }, context, info) =>
      rotateResult.answer({}, () => {
        const request = { id: parseWebhookId(id), idempotencyKey }
        const select = selectionOf(context, info, { of: { type: 'RotateWebhookSecretSuccess', name: 'webhook' } })
        return context.services.webhooks.rotateSecret(context.actor, request, select)
      }),
  }),
  deleteWebhook: t.field({
    type: deletionResult.union,
    description: 'Deletes a webhook. Pending deliveries are given up.',
    requires: 'webhooks.delete',
    complexity: { field: 20 },
    args: { input: t.arg({ type: DeleteWebhookInput, required: true, description: 'The webhook to delete.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      deletionResult.answer({}, async () => {
        const deletedId = parseWebhookId(input.id)
        await services.webhooks.delete(actor, deletedId)
        return { deletedId }
      }),
  }),
}))
