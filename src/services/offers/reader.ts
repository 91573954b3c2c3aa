// Reads offers for subscriptions. Streams share reads, so that the rate of queries does not grow with the number of
// streams.

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { matchesFilter, type OfferFilter, withoutWriting } from '../../domain/offers/filter.ts'
import { type Offer, type OfferFacts, type Pricing, priceOffer } from '../../domain/offers/offers.ts'
import { changeableFactsOf } from '../../domain/offers/watch.ts'

/** Enough of an offer to detect a change. Streams that remember the same offer share its snapshot. */
export type OfferSnapshot = { machineId: number; listedUntil: Date; fingerprint: string }
export type FoundOffer = { offer: Offer; snapshot: OfferSnapshot }

/** The filter and pricing of a stream. Streams with equal keys share results. */
export type OfferView = { filter: OfferFilter; pricing: Pricing; key: string }
export function createView(filter: OfferFilter, pricing: Pricing): OfferView {
  return { filter, pricing, key: JSON.stringify([withoutWriting(filter), pricing], withBigInts) }
}

/** Reads the offers of machines that match a view. The read begins after the call, so it sees earlier changes. */
type OfferReader = (machineIds: number[], view: OfferView) => Promise<FoundOffer[]>

/** The offers of one machine that match a view. */
type FindOnMachine = (view: OfferView) => FoundOffer[]

/** Wait this long to batch requests. */
const batchWindowMs = 25
const maxMachinesPerBatch = 200

/** Runs one read at a time, for all requests that came before it began. */
export function createOfferReader(read: (machineIds: number[]) => Promise<OfferFacts[]>): OfferReader {
  const waiting = new Map<number, PromiseWithResolvers<FindOnMachine>>()
  let reading = false

  function request(machineId: number) {
    const pending = waiting.get(machineId) ?? Promise.withResolvers()
    waiting.set(machineId, pending)
    return pending.promise
  }

  async function readAll(): Promise<void> {
    reading = true
    while (waiting.size > 0) {
      await sleep(batchWindowMs)
      await readSome([...waiting].slice(0, maxMachinesPerBatch))
    }
    reading = false
  }

  async function readSome(requests: [number, PromiseWithResolvers<FindOnMachine>][]): Promise<void> {
    // A request from here on may follow a newer change, so it waits for the next read.
    for (const [machineId] of requests) waiting.delete(machineId)
    try {
      const offers = Map.groupBy(await read(requests.map(([machineId]) => machineId)), ({ machineId }) => machineId)
      for (const [machineId, { resolve }] of requests) resolve(createFindOnMachine(offers.get(machineId) ?? []))
    } catch (error) {
      for (const [, { reject }] of requests) reject(error)
    }
  }

  return async (machineIds, view) => {
    const answers = machineIds.map(request)
    if (!reading) void readAll()
    return (await Promise.all(answers)).flatMap(findOnMachine => findOnMachine(view))
  }
}

/** Prices and filters the offers of a machine once for all streams with the same view. */
function createFindOnMachine(offers: OfferFacts[]): FindOnMachine {
  const snapshots = snapshotsOf(offers)
  const byView = new Map<string, FoundOffer[]>()
  return ({ filter, pricing, key }) => {
    const known = byView.get(key)
    if (known) return known
    const priced = offers.map((offer, index) => {
      return { offer: priceOffer(offer, pricing), snapshot: snapshots[index] as OfferSnapshot }
    })
    const found = priced.filter(({ offer }) => matchesFilter(offer, filter))
    byView.set(key, found)
    return found
  }
}

/** Snapshots of one machine's offers. The facts of the machine are hashed once for all of them. */
function snapshotsOf(offers: OfferFacts[]): OfferSnapshot[] {
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
