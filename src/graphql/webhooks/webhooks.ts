import { pageSizeOf } from '../../domain/pages.ts'
import {
  checkRecentCount,
  deliveryStatusOf,
  maxRecentDeliveries,
  type WebhookDelivery as WebhookDeliveryShape,
  type Webhook as WebhookShape,
} from '../../domain/webhooks/webhooks.ts'
import { builder } from '../builder.ts'
import { Event } from '../events/events.ts'
import { EventTypeEnum } from '../events/types.ts'
import { printId } from '../ids.ts'
import { createLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'

const DeliveryStatus = builder.enumType('WebhookDeliveryStatus', {
  description: 'How far a delivery is.',
  values: {
    PENDING: { value: 'pending', description: 'It was not tried yet.' },
    RETRYING: { value: 'retrying', description: 'It failed, and is tried again.' },
    DELIVERED: { value: 'delivered', description: 'It arrived: the receiver answered with a status from 200 to 299.' },
    GIVEN_UP: { value: 'givenUp', description: 'It did not arrive, and is tried no more.' },
  } as const,
})

export const WebhookDelivery = builder.objectRef<WebhookDeliveryShape>('WebhookDelivery').implement({
  description: 'An event on its way to a webhook.',
  fields: t => ({
    id: t.id({
      description: 'Starts with `whd_`. Each attempt has it as the header `Berth-Delivery`.',
      resolve: ({ id }) => printId('WebhookDelivery', id),
    }),
    event: t.expose('event', { type: Event, description: 'What is told.' }),
    status: t.field({ type: DeliveryStatus, description: 'How far it is.', resolve: deliveryStatusOf }),
    attempts: t.exposeInt('attempts', { description: 'How often it was tried.' }),
    attemptedAt: t.expose('attemptedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last tried.',
    }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is tried next, or as soon after as may be. Null when it arrived, and when it was given up.',
    }),
    deliveredAt: t.expose('deliveredAt', { type: 'DateTime', nullable: true, description: 'When it arrived.' }),
    responseStatus: t.exposeInt('responseStatus', {
      nullable: true,
      description: 'The HTTP status of the answer to the last attempt, if there was an answer.',
    }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'Why there was no answer to the last attempt, or why it was given up without one.',
    }),
  }),
})

export const Webhook = builder.objectRef<WebhookShape>('Webhook').implement({
  description: 'Where events of the account are sent. Its secret was in the answer that made it, and is in no other.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'Starts with `whk_`.', resolve: ({ id }) => printId('Webhook', id) }),
    url: t.exposeString('url', { description: 'What events are posted to.' }),
    types: t.expose('types', { type: [EventTypeEnum], description: 'Which events are sent.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    oldSecretUntil: t.expose('oldSecretUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when the secret before signs beside the one that there is. Null when it does not.',
    }),
    recentDeliveries: t.field({
      type: [WebhookDelivery],
      description:
        'What was sent last, and what is to be: the newest events first, and of them those that this key may read.',
      args: {
        first: t.arg.int({
          required: true,
          defaultValue: 10,
          description: `How many, 1 to ${maxRecentDeliveries}.`,
        }),
      },
      complexity: ({ first }) => ({ field: 1, multiplier: pageSizeOf({ first }) }),
      resolve: async ({ id }, { first }, context) => {
        checkRecentCount(first)
        return (await deliveriesByWebhook(context).load(id))?.deliveries.slice(0, first) ?? []
      },
    }),
  }),
})

export const webhookById = createLoader(({ services, actor }, ids: readonly number[]) =>
  services.webhooks.byIds(actor, ids),
)

/** The deliveries of many webhooks at once. */
const deliveriesByWebhook = createLoader(({ services, actor }, ids: readonly number[]) =>
  services.webhooks.recentDeliveries(actor, ids),
)
