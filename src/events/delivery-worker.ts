// Sends events to webhooks, and writes down what came of it. A gateway that dies in between sends once more: receivers
// tell by the event's id.

import type { Logger } from 'pino'
import type { Deliveries, DeliveryLease } from '../services/webhooks/delivery.ts'
import type { SendWebhook } from './webhook-sender.ts'

export type DeliveryWorker = {
  claim(limit: number): Promise<DeliveryLease[]>
  work(lease: DeliveryLease): Promise<void>
  /** Calls off what is on its way: another gateway sends it again. */
  stop(): void
}

export function createDeliveryWorker(deps: { deliveries: Deliveries; send: SendWebhook; log: Logger }): DeliveryWorker {
  const { deliveries, send, log } = deps
  const stopping = new AbortController()

  return {
    claim: limit => deliveries.claim(limit),
    async work(lease) {
      if (lease.deleted) return await deliveries.giveUp(lease, 'The webhook was deleted.')
      const attempt = await attemptDelivery(lease)
      await (attempt ? deliveries.record(lease, attempt) : deliveries.release(lease))
    },
    stop: () => stopping.abort(),
  }

  /** Whatever goes wrong in here is an attempt that failed, or it would be tried again at once and for ever. */
  async function attemptDelivery(lease: DeliveryLease) {
    try {
      return await send(deliveries.buildRequest(lease), stopping.signal)
    } catch (error) {
      log.error({ err: error, deliveryId: String(lease.deliveryId) }, 'An event could not be sent to a webhook.')
      return { error: 'Berth could not send it.' }
    }
  }
}
