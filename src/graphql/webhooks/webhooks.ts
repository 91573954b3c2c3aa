import { pageSizeOf } from '../../domain/pages.ts'
import { checkRecentCount, deliveryStatusOf, kindsOf, maxRecentDeliveries } from '../../domain/webhooks/webhooks.ts'
import { builder } from '../builder.ts'
import '../events/events.ts'
import { EventKindEnum } from '../events/kinds.ts'
import { printId, printName } from '../ids.ts'
import { createRequiredSelectedLoader, createSelectedLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { selectionOf } from '../selection.ts'

const DeliveryStatus = builder.enumType('WebhookDeliveryStatus', {
  description: 'State of a delivery to a webhook.',
  values: {
    PENDING: { value: 'pending', description: 'The first attempt has not been made.' },
    RETRYING: { value: 'retrying', description: 'The last attempt failed. Another attempt follows.' },
    DELIVERED: { value: 'delivered', description: 'The receiver answered with a status from 200 to 299.' },
    GIVEN_UP: { value: 'givenUp', description: 'The event was not delivered, and no further attempt follows.' },
  } as const,
})

export const WebhookDelivery = builder.prismaObject('WebhookDelivery', {
  select: { id: true },
  description: 'The delivery of one event to one webhook.',
  fields: t => ({
    id: t.id({
      description: 'ID of the delivery, such as `whd_42`. Each attempt sends it as the header `Berth-Delivery`.',
      resolve: ({ id }) => printId('WebhookDelivery', id),
    }),
    event: t.relation('event', { description: 'The event to deliver.' }),
    status: t.field({
      type: DeliveryStatus,
      description: 'State of the delivery.',
      select: { attempts: true, deliveredAt: true, dueAt: true },
      resolve: deliveryStatusOf,
    }),
    attempts: t.exposeInt('attempts', { description: 'Number of attempts so far.' }),
    attemptedAt: t.expose('attemptedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the last attempt was made. Null before the first attempt.',
    }),
    nextAttemptAt: t.expose('dueAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Earliest time of the next attempt. Null if the event was delivered or given up.',
    }),
    deliveredAt: t.expose('deliveredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the event was delivered. Null if it was not.',
    }),
    responseStatus: t.exposeInt('responseStatus', {
      nullable: true,
      description: 'HTTP status of the answer to the last attempt. Null if there was no answer.',
    }),
    error: t.exposeString('error', {
      nullable: true,
      description:
        'Why the last attempt got no answer, or why the delivery was given up without an attempt. Null if there was no such error.',
    }),
  }),
})

export const Webhook = builder.prismaObject('Webhook', {
  select: { id: true },
  description:
    'A URL that events of the account are sent to. Its secret is shown only in the answer that created or rotated it.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'ID of the webhook, such as `whk_42`.', resolve: ({ id }) => printId('Webhook', id) }),
    name: t.string({
      description: 'Name of the webhook, which tells webhooks with the same URL apart. Its ID if it was given none.',
      select: { name: true },
      resolve: webhook => printName('Webhook', webhook),
    }),
    url: t.string({
      description: 'URL that events are posted to.',
      select: { url: true },
      resolve: ({ url }) => url,
    }),
    kinds: t.field({
      type: [EventKindEnum],
      description: 'Kinds of the events that are sent.',
      select: { kinds: true },
      resolve: kindsOf,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the webhook was created.' }),
    oldSecretUntil: t.expose('oldSecretUntil', {
      type: 'DateTime',
      nullable: true,
      description:
        'Until when deliveries are also signed with the previous secret. Null if they are signed only with the current one.',
    }),
    recentDeliveries: t.field({
      type: [WebhookDelivery],
      nullable: true,
      description:
        'Deliveries of the latest events, newest event first, whether delivered or not. Contains only events that this API key may read.',
      requires: 'webhooks.list',
      args: {
        first: t.arg.int({
          required: true,
          defaultValue: 10,
          description: `Number of deliveries to return, 1-${maxRecentDeliveries}. Defaults to 10.`,
        }),
      },
      complexity: ({ first }) => ({ field: 1, multiplier: pageSizeOf({ first }) }),
      resolve: async ({ id }, { first }, context, info) => {
        checkRecentCount(first)
        return (await deliveriesByWebhook(context, selectionOf(context, info)).load(id)).deliveries.slice(0, first)
      },
    }),
  }),
})

export const webhookById = createSelectedLoader(({ services, actor }, ids: readonly number[], select) =>
  services.webhooks.byIds(actor, ids, select),
)

const deliveriesByWebhook = createRequiredSelectedLoader(({ services, actor }, ids: readonly number[], select) =>
  services.webhooks.recentDeliveries(actor, ids, select),
)
