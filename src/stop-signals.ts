import { setTimeout as sleep } from 'node:timers/promises'

type StopSignals = {
  /** Aborted by the first signal. */
  requested: AbortSignal
  /** The name of the first signal. */
  first(): NodeJS.Signals | undefined
  /** Resolves after `delayMs`, or at once on an urgent signal. */
  waitUnlessUrgent(delayMs: number): Promise<void>
}

/** npm forwards a supervisor's signal that also reached this process. A second signal this soon counts as the first. */
const duplicateSignalMs = 500

/**
 * Listens for the signals that stop the process. SIGTERM comes from a supervisor, which can wait. A second SIGTERM is
 * urgent. So are SIGINT and SIGHUP: they come from a person at a terminal.
 */
export function listenForStopSignals(source: NodeJS.EventEmitter = process): StopSignals {
  const requested = new AbortController()
  const urgent = new AbortController()
  let requestedAt: number | undefined
  let first: NodeJS.Signals | undefined
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    source.on(signal, () => {
      const now = performance.now()
      requestedAt ??= now
      first ??= signal
      requested.abort()
      if (signal !== 'SIGTERM' || now - requestedAt > duplicateSignalMs) urgent.abort()
    })
  return {
    requested: requested.signal,
    first: () => first,
    waitUnlessUrgent: delayMs => sleep(delayMs, undefined, { signal: urgent.signal }).catch(() => {}),
  }
}
