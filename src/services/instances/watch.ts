import type { Actor } from '../../domain/actor.ts'
import { notFound } from '../../domain/errors.ts'
import type { Event } from '../../domain/events/events.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import { authorize } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { createStream, type FeedSubscription } from '../feed.ts'
import { instanceReadServices } from './read.ts'

export function instanceWatchServices(deps: Deps) {
  const { byIds } = instanceReadServices(deps)

  return {
    /**
     * Streams the instance now and after each change, until it is removed from its machine. Changes while the reader is
     * busy are merged into one update.
     */
    async watch(actor: Actor, id: bigint): Promise<AsyncIterableIterator<Instance>> {
      authorize(actor, 'instances.watch', { id: Number(id) })
      const wakesOn = (event: Event) => event.instanceId === id
      // Subscribes before reading, so that no event is missed in between.
      const subscription = await deps.feed.subscribe(actor, { wakesOn })
      try {
        return createStream(subscription, streamInstance(actor, await loadInstance(actor, id), subscription))
      } catch (error) {
        subscription.close()
        throw error
      }
    },
  }

  async function* streamInstance(actor: Actor, first: Instance, { next }: FeedSubscription): AsyncGenerator<Instance> {
    let instance = first
    yield instance
    while (!instance.removedAt && (await next())) {
      instance = await loadInstance(actor, instance.id)
      yield instance
    }
  }

  async function loadInstance(actor: Actor, id: bigint): Promise<Instance> {
    const [instance] = await byIds(actor, [id], 'instances.watch')
    if (!instance) throw notFound('Instance', id)
    return instance
  }
}
