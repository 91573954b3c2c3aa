// Sends events to webhooks and records the results. If a gateway dies in between, the event is sent again: receivers
// recognize duplicates by the event's id.

import type { Logger } from 'pino'
import { type AttemptResult, isDelivered } from '../domain/webhooks/webhooks.ts'
import type { Deliveries, DeliveryLease } from '../services/webhooks/delivery.ts'
import { type Attributes, describeSpan, failSpan, inSpan } from '../traces/spans.ts'
import type { SendWebhook } from './webhook-sender.ts'

type DeliveryWorker = {
  leaseDue(limit: number): Promise<DeliveryLease[]>
  work(lease: DeliveryLease): Promise<void>
  describe(lease: DeliveryLease): Attributes
  /** Aborts deliveries in progress. Another gateway sends them again. */
  stop(): void
}

export function createDeliveryWorker(deps: { deliveries: Deliveries; send: SendWebhook; log: Logger }): DeliveryWorker {
  const { deliveries, send, log } = deps
  const stopping = new AbortController()

  return {
    leaseDue: limit => deliveries.leaseDue(limit),
    async work(lease) {
      if (lease.obsolete !== null) return await deliveries.giveUp(lease, lease.obsolete)
      const attempt = await attemptDelivery(lease)
      if (!attempt) return await deliveries.release(lease)
      logChange(log, lease, attempt, await deliveries.record(lease, attempt))
    },
    describe: ({ deliveryId }) => ({ 'berth.delivery.id': String(deliveryId) }),
    stop: () => stopping.abort(),
  }

  /** Any error counts as a failed attempt. Otherwise the delivery would be retried at once, forever. */
  async function attemptDelivery(lease: DeliveryLease) {
    try {
      return await inSpan('POST', { kind: 'CLIENT', attributes: { 'http.request.method': 'POST' } }, async () => {
        const attempt = await send(deliveries.buildRequest(lease), stopping.signal)
        if (attempt) describeAttempt(attempt)
        return attempt
      })
    } catch (error) {
      log.error({ err: error, deliveryId: String(lease.deliveryId) }, 'An event could not be sent to a webhook.')
      return { error: 'Berth could not send the event.' }
    }
  }
}

/** One line when a webhook begins to fail, and one when it works again, not one for each attempt. */
function logChange(
  log: Logger,
  { webhookId, event: { accountId } }: DeliveryLease,
  attempt: AttemptResult,
  change: Awaited<ReturnType<Deliveries['record']>>,
): void {
  const fields = { webhookId, accountId }
  if (change === 'fails')
    log.warn(
      { ...fields, ...attempt },
      'A webhook does not take events. The gateways try each event again for about two days.',
    )
  if (change === 'works') log.info(fields, 'A webhook takes events again.')
}

/** The receiver's address is the renter's secret, and no receiver gets the id of a trace. */
function describeAttempt(attempt: AttemptResult): void {
  if ('responseStatus' in attempt) describeSpan({ 'http.response.status_code': attempt.responseStatus })
  if (!isDelivered(attempt)) failSpan('responseStatus' in attempt ? String(attempt.responseStatus) : 'no_answer')
}
