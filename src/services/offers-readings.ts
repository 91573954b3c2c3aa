// What streams read of the market. However many they are, the database is asked so often at most.

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Offer, type Pricing, priceOf } from '../domain/offers.ts'
import { factsOf } from '../domain/offers-watch.ts'

/** Enough of an offer to see that it is another now. Streams that remember the same share it. */
export type Memory = { machineId: number; listedUntil: Date; print: string }
export type Found = { offer: Offer; memory: Memory }

/** Reads the offers of machines, whatever their price is asked for, as they are after the call. */
export type Readings = (machineIds: number[], pricing: Pricing) => Promise<Found[]>

/** So long it is waited for others that ask. */
const gatherMs = 25
const maxMachines = 200

/** One reading at a time, for all who asked before it began. */
export function createReadings(read: (machineIds: number[]) => Promise<Offer[]>): Readings {
  const waiting = new Map<number, PromiseWithResolvers<ReturnType<typeof machineOf>>>()
  let reading = false

  function ask(machineId: number) {
    const asked = waiting.get(machineId) ?? Promise.withResolvers()
    waiting.set(machineId, asked)
    return asked.promise
  }

  async function readAll(): Promise<void> {
    reading = true
    while (waiting.size > 0) {
      await sleep(gatherMs)
      await readSome([...waiting].slice(0, maxMachines))
    }
    reading = false
  }

  async function readSome(asked: [number, PromiseWithResolvers<ReturnType<typeof machineOf>>][]): Promise<void> {
    // Whoever asks from here on may know of something newer.
    for (const [machineId] of asked) waiting.delete(machineId)
    try {
      const offers = Map.groupBy(await read(asked.map(([machineId]) => machineId)), ({ machineId }) => machineId)
      for (const [machineId, { resolve }] of asked) resolve(machineOf(offers.get(machineId) ?? []))
    } catch (error) {
      for (const [, { reject }] of asked) reject(error)
    }
  }

  return async (machineIds, pricing) => {
    const answers = machineIds.map(ask)
    if (!reading) void readAll()
    return (await Promise.all(answers)).flatMap(machine => machine(pricing))
  }
}

/** The offers of a machine, priced once for all who ask the same. */
function machineOf(offers: Offer[]): (pricing: Pricing) => Found[] {
  const memories = offers.map(memoryOf)
  const priced = new Map<string, Found[]>()
  return pricing => {
    const terms = `${pricing.type} ${pricing.diskMb}`
    const found =
      priced.get(terms) ??
      offers.map((offer, index) => {
        const price = priceOf(offer, offer.machine.storageNanos, pricing)
        return { offer: { ...offer, pricing, price }, memory: memories[index] as Memory }
      })
    priced.set(terms, found)
    return found
  }
}

export function memoryOf(offer: Offer): Memory {
  const { machineId, machine } = offer
  const facts = JSON.stringify(factsOf(offer), (_key, value) => (typeof value === 'bigint' ? String(value) : value))
  return { machineId, listedUntil: machine.listedUntil, print: createHash('sha1').update(facts).digest('base64') }
}

/** Does so much at once at most; the rest waits for its turn. */
export function inTurn(hands: number): <Value>(work: () => Promise<Value>) => Promise<Value> {
  const queue: (() => void)[] = []
  let free = hands
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
