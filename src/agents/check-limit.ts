import { DomainError } from '../domain/errors.ts'

const perMs = 600_000

/**
 * Lets a host be checked once at a time, and a number of times in ten minutes. A host that is refused tries again after a
 * repair. One that asks without end would keep the gateway busy without end.
 */
export function createCheckLimit(maxChecks: number, what: string) {
  const running = new Map<number, object>()
  /** By machine, when its last checks began. */
  const begun = new Map<number, number[]>()

  /** Returns what ends the check. Throws CONFLICT beyond the limit. */
  return function begin(machineId: number): () => void {
    const nowMs = performance.now()
    const recent = (begun.get(machineId) ?? []).filter(atMs => atMs > nowMs - perMs)
    if (running.has(machineId)) throw busy(`The ${what} of this machine are being tried. Try again in a moment.`)
    if (recent.length >= maxChecks)
      throw busy(`The ${what} of this machine were tried ${maxChecks} times in ten minutes. Try again later.`)
    begun.set(machineId, [...recent, nowMs])
    const check = {}
    running.set(machineId, check)
    return () => {
      if (running.get(machineId) === check) running.delete(machineId)
    }
  }
}

const busy = (message: string) => new DomainError('CONFLICT', message, { subject: null })
