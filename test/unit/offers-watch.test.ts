import { expect, it, vi } from 'vitest'
import type { Actor } from '../../src/domain/actor.ts'
import { offerWatchServices } from '../../src/services/offers-watch.ts'

const { maxRemembered, maxWatched } = vi.hoisted(() => ({ maxRemembered: 25, maxWatched: 20 }))
vi.mock('../../src/domain/offers-watch.ts', async original => ({ ...(await original()), maxRemembered, maxWatched }))
vi.mock('../../src/services/offers.ts', () => ({
  findOffers: async () => Array.from({ length: 10 }, (_, id) => ({ id: BigInt(id), machine: {} })),
}))

it('streams that remember too many offers together are refused, until one is closed', async () => {
  const actor: Actor = { accountId: 1, apiKeyId: 1, publicId: '', permissions: null }
  let open = 0
  const follow = async () => {
    open += 1
    const close = () => {
      open -= 1
    }
    return { from: { xid: 0n, id: 0n }, next: async () => undefined, closed: () => false, close }
  }
  const deps = { feed: { follow }, now: () => new Date(0) }
  const { watch } = offerWatchServices(deps as unknown as Parameters<typeof offerWatchServices>[0])
  const another = () => watch(actor, { conditions: [], alternatives: [] }, { type: 'onDemand', diskMb: 0 })
  const [first] = [await another(), await another()]
  await expect(another()).rejects.toMatchObject({ code: 'TOO_MANY_STREAMS' })
  expect(open).toBe(2)
  await first.return?.()
  await another()
  await expect(another()).rejects.toMatchObject({ code: 'TOO_MANY_STREAMS' })
})
