// What renters wait for together: one connection of a host, however many ask for it at once.

import type { Link } from '../providers/agent/link.ts'

type Flight = { link: Promise<Link>; land(link: Link): void; fail(error: unknown): void }

type FlightDeps = {
  withinMs: number
  /** Makes the host connect. Returns when it should have. */
  ask(machineId: number, signal: AbortSignal): Promise<unknown>
  /** Called once for those who wait together. */
  explain(machineId: number, error: unknown): unknown
}

export function createFlights({ withinMs, ask, explain }: FlightDeps) {
  const flights = new Map<number, Flight>()

  function begin(machineId: number): Flight {
    const { promise, resolve, reject } = Promise.withResolvers<Link>()
    const ended = new AbortController()
    const end = () => {
      flights.delete(machineId)
      ended.abort()
    }
    const flight: Flight = {
      link: promise,
      land(link) {
        end()
        resolve(link)
      },
      fail(error) {
        if (ended.signal.aborted) return
        end()
        reject(explain(machineId, error))
      },
    }
    flights.set(machineId, flight)
    // Those who wait may all have left.
    promise.catch(() => {})
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(withinMs)])
    const isMissing = () => flight.fail(new Error('The host says that it has connected, and has not.'))
    ask(machineId, signal).then(isMissing, flight.fail)
    return flight
  }

  return {
    count: () => flights.size,
    has: (machineId: number): boolean => flights.has(machineId),
    async join(machineId: number, signal: AbortSignal): Promise<Link> {
      signal.throwIfAborted()
      const { link } = flights.get(machineId) ?? begin(machineId)
      const left = Promise.withResolvers<never>()
      const leave = () => left.reject(signal.reason)
      signal.addEventListener('abort', leave, { once: true })
      try {
        return await Promise.race([link, left.promise])
      } finally {
        signal.removeEventListener('abort', leave)
      }
    },
    /** False if nobody waits. */
    land(link: Link): boolean {
      const flight = flights.get(link.machineId)
      flight?.land(link)
      return flight !== undefined
    },
    stop(error: Error): void {
      for (const { fail } of [...flights.values()]) fail(error)
    },
  }
}
