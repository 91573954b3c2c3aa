import { setTimeout as sleep } from 'node:timers/promises'

export type StopSignals = {
  /** Aborted by the first signal. */
  requested: AbortSignal
  /** Resolves when `delayMs` have passed since the first signal, or at once when somebody is in a hurry. */
  waitUnlessUrgent(delayMs: number): Promise<void>
}

/** npm passes on the signal that a supervisor sent to it and to us. A second signal this soon is the first one again. */
const duplicateSignalMs = 500

/**
 * Listens for the signals that stop the process. SIGTERM comes from a supervisor, which can wait. SIGINT and SIGHUP come
 * from somebody at a terminal, who is in a hurry, and so is whoever sends SIGTERM again.
 */
export function listenForStopSignals(source: NodeJS.EventEmitter = process): StopSignals {
  const requested = new AbortController()
  const urgent = new AbortController()
  let requestedAt: number | undefined
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    source.on(signal, () => {
      const now = performance.now()
      requestedAt ??= now
      requested.abort()
      if (signal !== 'SIGTERM' || now - requestedAt > duplicateSignalMs) urgent.abort()
    })
  return {
    requested: requested.signal,
    waitUnlessUrgent: delayMs => sleep(delayMs, undefined, { signal: urgent.signal }).catch(() => {}),
  }
}
