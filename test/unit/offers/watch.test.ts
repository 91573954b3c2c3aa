import { beforeEach, expect, it, vi } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import type { Offer } from '../../../src/domain/offers/offers.ts'
import { offerWatchServices } from '../../../src/services/offers/watch.ts'

const limits = vi.hoisted(() => ({ maxRemembered: 35, maxRememberedPerAccount: 25, maxWatched: 20 }))
vi.mock('../../../src/domain/offers/watch.ts', async original => ({ ...(await original<object>()), ...limits }))
const findOffers = vi.hoisted(() => vi.fn<() => Promise<Offer[]>>())
/** What a search for machines reads of each offer. */
type OnMachine = { machineId: number }
const findMachinesOfOffers = vi.hoisted(() => vi.fn<() => Promise<OnMachine[]>>())
vi.mock('../../../src/services/offers/offers.ts', () => ({
  findOffers: (_deps: unknown, _search: unknown, _limit: number, select: object) =>
    'machine' in select ? findOffers() : findMachinesOfOffers(),
}))

const actor: Actor = { accountId: 1, apiKeyId: 1, publicId: '', permissions: null }
const [second, third] = [2, 3].map(accountId => ({ ...actor, accountId })) as [Actor, Actor]
const refused = { code: 'TOO_MANY_STREAMS' }
const offers = (count: number) =>
  Array.from(
    { length: count },
    (_, id) =>
      ({
        id: BigInt(id),
        machineId: 1,
        gpuPriceNanos: 0n,
        numGpus: 1,
        machine: { diskPricePerGbMonthNanos: 0n, listedUntil: new Date(1) },
      }) as unknown as Offer,
  )
let open: number
let another: (by?: Actor) => Promise<AsyncIterableIterator<unknown>>

beforeEach(() => {
  findOffers.mockReset().mockResolvedValue(offers(10))
  findMachinesOfOffers.mockReset().mockResolvedValue(Array(10).fill({ machineId: 1 }))
  open = 0
  const subscribe = async () => {
    open += 1
    const close = () => {
      open -= 1
    }
    const next = async () => ({ events: [], machineIds: [1] })
    return { startPosition: { xid: 0n, id: 0n }, next, waitForTurn: async () => {}, isClosed: () => false, close }
  }
  const deps = { feed: { subscribe }, database: { clock: { now: () => new Date(0) } } }
  const { watch } = offerWatchServices(deps as unknown as Parameters<typeof offerWatchServices>[0])
  another = (by = actor) => watch(by, { conditions: [], anyOf: [] }, { rentalKind: 'onDemand', diskMb: 0 })
})

it('refuses another stream while the streams of the account together remember too many offers', async () => {
  const [first] = [await another(), await another()]
  await expect(another()).rejects.toMatchObject(refused)
  expect(open).toBe(2)
  await another(second)
  await first.return?.()
  await another()
})

it('refuses another stream while the streams of the gateway together remember too many offers', async () => {
  for (const by of [actor, second, third]) await another(by)
  await expect(another(third)).rejects.toMatchObject({ ...refused, message: expect.stringContaining('gateway') })
  expect(open).toBe(3)
})

it('ends a stream that grows until all streams of the account remember too many offers', async () => {
  const [, growing] = [await another(), await another()]
  findOffers.mockResolvedValue(offers(16))
  const kinds: unknown[] = []
  const read = async () => {
    for await (const { kind } of growing as AsyncIterable<{ kind: string }>) kinds.push(kind)
  }
  await expect(read()).rejects.toMatchObject(refused)
  expect(kinds).toEqual(Array(6).fill('added'))
  expect(open).toBe(1)
})

it('runs at most two searches of opening streams at once', async () => {
  const searches: PromiseWithResolvers<OnMachine[]>[] = []
  findMachinesOfOffers.mockImplementation(() => {
    const search = Promise.withResolvers<OnMachine[]>()
    searches.push(search)
    return search.promise
  })
  const all = Promise.all([another(), another(), another(), another()])
  for (const [index, soFar] of [2, 3, 4, 4].entries()) {
    await expect.poll(() => searches.length).toBe(soFar)
    searches[index]?.resolve([])
  }
  expect(await all).toHaveLength(4)
})
