// Streams what an instance uses.

import type { Actor } from '../../../domain/actor.ts'
import { notFound } from '../../../domain/errors.ts'
import type { Event } from '../../../domain/events/events.ts'
import { type InstanceMetrics, sampleMs } from '../../../domain/instances/metrics.ts'
import { authorize } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { createStream, type FeedSubscription } from '../../feed.ts'
import { instanceReadServices } from '../read.ts'
import { type MeasuredInstance, measuredSelect } from './measured.ts'
import { metricsServices } from './metrics.ts'

export function metricsWatchServices(deps: Deps) {
  const { byIds } = instanceReadServices(deps)
  const { currentMetrics } = metricsServices(deps)

  return {
    /** Streams what an instance uses while it runs: at once, and then each time it was measured, until it is destroyed. */
    async watchMetrics(actor: Actor, id: bigint): Promise<AsyncIterableIterator<InstanceMetrics>> {
      authorize(actor, 'instances.metrics', { id: Number(id) })
      const isWanted = (event: Event) => event.instanceId === id
      // Subscribes before reading, so that no event is missed in between.
      const subscription = await deps.feed.subscribe(actor, { includes: isWanted })
      try {
        return createStream(subscription, streamMetrics(actor, await find(actor, id), subscription))
      } catch (error) {
        subscription.close()
        throw error
      }
    },
  }

  async function* streamMetrics(
    actor: Actor,
    first: MeasuredInstance,
    { next }: FeedSubscription,
  ): AsyncGenerator<InstanceMetrics> {
    let sentUntil = 0
    for (let instance = first; !instance.destroyedAt; ) {
      const metrics = (await currentMetrics(actor, [instance])).get(instance.id)
      if (metrics && metrics.endsAt.getTime() > sentUntil) {
        yield metrics
        sentUntil = metrics.endsAt.getTime()
      }
      const update = await next(instance.status === 'running' ? sampleMs : undefined)
      if (!update) return
      if (update.events.length > 0) instance = await find(actor, instance.id)
    }
  }

  async function find(actor: Actor, id: bigint): Promise<MeasuredInstance> {
    const [instance] = await byIds(actor, [id], measuredSelect, 'instances.metrics')
    if (!instance) throw notFound('Instance', id)
    return instance
  }
}
