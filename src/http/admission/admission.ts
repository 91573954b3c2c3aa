// Bounds how many requests are answered at once. Others wait in a queue, in which their owners take turns. Under a load that
// lasts, a request waits only for a short time, so those that are answered are answered soon, and the others are told at once.

import type { Owner, Place } from '../../turns/owners.ts'
import { createTurnQueue } from '../../turns/queue.ts'
import { createRests, type RestLimits, restLimits } from './rests.ts'

export type Admission = {
  /** A place as soon as one is free; undefined if the request is refused. */
  enter(owner: Owner): Place | Promise<Place | undefined>
  figures(): AdmissionFigures
}
/** Requests that run and wait now, and those that have entered and were refused so far. */
export type AdmissionFigures = { running: number; waiting: number; atOnce: number; waited: number; refused: number }

export type AdmissionLimits = {
  places: number
  /** Places of one owner, so that a slow one leaves some to others. */
  placesOfOwner: number
  /** If more wait, the owner with the most loses its newest request. */
  waiting: number
}

/** Most requests wait for the database, which also works for those that have no connection yet: the next ones are ready then. */
export function limitsFor(connections: number): AdmissionLimits {
  return { places: 4 * connections, placesOfOwner: 3 * connections, waiting: 500 }
}

/** A request waits this long after a time without a queue, so that a burst is answered as a whole. */
const burstMs = 500
/** A request waits this long if the queue has lasted for longer than a burst. */
const lastingMs = 50
const tickMs = 20
/** In a turn of the event loop that has lasted this long, requests wait, so that they do not hold up all else. */
const longTurnMs = 40
/** Requests that begin in one turn of the event loop after they have waited. */
const startsInTurn = 8

type Waiter = { owner: Owner; sinceMs: number; resolve(place: Place | undefined): void }

export function createAdmission(limits: AdmissionLimits, rests: RestLimits = restLimits): Admission {
  const { places, placesOfOwner, waiting: maxWaiting } = limits
  const begin = createRests(rests)
  const queue = createTurnQueue<Owner, Waiter>()
  const running = new Map<Owner, number>()
  const counts = { atOnce: 0, waited: 0, refused: 0 }
  let free = places
  let ticker: NodeJS.Timeout | undefined
  let tickedMs = 0
  /** When there was last no queue. */
  let calmMs = 0
  let isStarting = false

  const mayStart = (owner: Owner) => free > 0 && (running.get(owner) ?? 0) < placesOfOwner

  function start(owner: Owner): Place {
    free -= 1
    running.set(owner, (running.get(owner) ?? 0) + 1)
    return begin(owner, () => {
      free += 1
      const others = (running.get(owner) ?? 1) - 1
      if (others > 0) running.set(owner, others)
      else running.delete(owner)
      startNext()
    })
  }

  /** Starts some of those that wait, and the others in the next turns of the event loop. */
  function startNext(): void {
    if (isStarting || queue.count() === 0) return
    isStarting = true
    setImmediate(() => {
      isStarting = false
      let started = 0
      for (; started < startsInTurn; started += 1) {
        const next = queue.next(mayStart)
        if (!next) break
        counts.waited += 1
        next.resolve(start(next.owner))
      }
      if (queue.count() === 0) calmMs = performance.now()
      if (started === startsInTurn) startNext()
    })
  }

  function refuse(waiters: readonly Waiter[]): void {
    counts.refused += waiters.length
    for (const { resolve } of waiters) resolve(undefined)
  }

  function tick(): void {
    tickedMs = performance.now()
    // A queue that is empty because all were refused does not count.
    if (queue.count() === 0 && free > 0) calmMs = tickedMs
    if (queue.count() === 0 && free === places) {
      clearInterval(ticker)
      ticker = undefined
    }
    const patienceMs = tickedMs - calmMs > burstMs ? lastingMs : burstMs
    refuse(queue.removeOver(({ sinceMs }) => tickedMs - sinceMs > patienceMs))
  }

  function ensureTicks(nowMs: number): void {
    if (ticker) return
    ticker = setInterval(tick, tickMs)
    tickedMs = nowMs
    calmMs = nowMs
  }

  return {
    enter(owner) {
      const nowMs = performance.now()
      ensureTicks(nowMs)
      if (queue.count() === 0 && mayStart(owner) && nowMs - tickedMs < longTurnMs) {
        counts.atOnce += 1
        return start(owner)
      }
      return new Promise(resolve => {
        queue.add(owner, { owner, sinceMs: nowMs, resolve })
        if (queue.count() > maxWaiting) refuse(queue.removeNewest())
        startNext()
      })
    },
    figures: () => ({ running: places - free, waiting: queue.count(), ...counts }),
  }
}
