// What streams read of the market. However many they are, the database is asked so often at most.

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { matchesFilter, type OfferFilter } from '../../domain/offers/filter.ts'
import { type Offer, type Pricing, priceOf } from '../../domain/offers/offers.ts'
import { changeableFactsOf } from '../../domain/offers/watch.ts'

/** Enough of an offer to see that it is another now. Streams that remember the same share it. */
export type OfferSnapshot = { machineId: number; listedUntil: Date; fingerprint: string }
export type FoundOffer = { offer: Offer; snapshot: OfferSnapshot }

/** Which offers a stream follows, and at which prices. Streams with equal names share what is found for them. */
export type OfferView = { filter: OfferFilter; pricing: Pricing; key: string }
export function createView(filter: OfferFilter, pricing: Pricing): OfferView {
  return { filter, pricing, key: JSON.stringify([filter, pricing], withBigInts) }
}

/** Reads the offers of machines that a view shows, as they are after the call. */
export type OfferReader = (machineIds: number[], view: OfferView) => Promise<FoundOffer[]>

/** So long it is waited for others that ask. */
const batchWindowMs = 25
const maxMachinesPerBatch = 200

/** One reading at a time, for all who asked before it began. */
export function createOfferReader(read: (machineIds: number[]) => Promise<Offer[]>): OfferReader {
  const waiting = new Map<number, PromiseWithResolvers<ReturnType<typeof createMachineView>>>()
  let reading = false

  function ask(machineId: number) {
    const asked = waiting.get(machineId) ?? Promise.withResolvers()
    waiting.set(machineId, asked)
    return asked.promise
  }

  async function readAll(): Promise<void> {
    reading = true
    while (waiting.size > 0) {
      await sleep(batchWindowMs)
      await readSome([...waiting].slice(0, maxMachinesPerBatch))
    }
    reading = false
  }

  async function readSome(
    asked: [number, PromiseWithResolvers<ReturnType<typeof createMachineView>>][],
  ): Promise<void> {
    // Whoever asks from here on may know of something newer.
    for (const [machineId] of asked) waiting.delete(machineId)
    try {
      const offers = Map.groupBy(await read(asked.map(([machineId]) => machineId)), ({ machineId }) => machineId)
      for (const [machineId, { resolve }] of asked) resolve(createMachineView(offers.get(machineId) ?? []))
    } catch (error) {
      for (const [, { reject }] of asked) reject(error)
    }
  }

  return async (machineIds, view) => {
    const answers = machineIds.map(ask)
    if (!reading) void readAll()
    return (await Promise.all(answers)).flatMap(machine => machine(view))
  }
}

/** The offers of a machine, priced and filtered once for all streams with the same view. */
function createMachineView(offers: Offer[]): (view: OfferView) => FoundOffer[] {
  const memories = snapshotsOf(offers)
  const byView = new Map<string, FoundOffer[]>()
  return ({ filter, pricing, key }) => {
    const known = byView.get(key)
    if (known) return known
    const priced = offers.map((offer, index) => {
      const price = priceOf(offer, offer.machine.storageNanos, pricing)
      return { offer: { ...offer, pricing, price }, snapshot: memories[index] as OfferSnapshot }
    })
    const found = priced.filter(({ offer }) => matchesFilter(offer, filter))
    byView.set(key, found)
    return found
  }
}

/** What is remembered of the offers of one machine. Its own facts, which are most of them, are printed once. */
function snapshotsOf(offers: Offer[]): OfferSnapshot[] {
  const [first] = offers
  const machinePrint = first && createHash('sha1').update(JSON.stringify(first.machine, withBigInts)).digest('base64')
  return offers.map(offer => {
    const { machineId, machine } = offer
    return {
      machineId,
      listedUntil: machine.listedUntil,
      fingerprint: `${machinePrint} ${changeableFactsOf(offer).join(' ')}`,
    }
  })
}

function withBigInts(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}

/** Does so much at once at most; the rest waits for its turn. */
export function limitConcurrency(limit: number): <Value>(work: () => Promise<Value>) => Promise<Value> {
  const queue: (() => void)[] = []
  let free = limit
  return async work => {
    if (free > 0) free -= 1
    else await new Promise<void>(resolve => queue.push(resolve))
    try {
      return await work()
    } finally {
      const next = queue.shift()
      // The hand goes on to whoever waits longest, so nobody comes in between.
      if (next) next()
      else free += 1
    }
  }
}
