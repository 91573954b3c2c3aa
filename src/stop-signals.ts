import { setTimeout as sleep } from 'node:timers/promises'

export type StopSignals = {
  /** Aborted by the first signal. */
  asked: AbortSignal
  /** Resolves when `delayMs` have passed since the first signal, or at once when somebody is in a hurry. */
  wait(delayMs: number): Promise<void>
}

/** npm passes on the signal that a supervisor sent to it and to us. A second signal this soon is the first one again. */
const echoMs = 500

/**
 * Listens for the signals that stop the process. SIGTERM comes from a supervisor, which can wait. SIGINT and SIGHUP come
 * from somebody at a terminal, who is in a hurry, and so is whoever sends SIGTERM again.
 */
export function listenForStop(source: NodeJS.EventEmitter = process): StopSignals {
  const asked = new AbortController()
  const hurried = new AbortController()
  let askedAt: number | undefined
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    source.on(signal, () => {
      const now = performance.now()
      askedAt ??= now
      asked.abort()
      if (signal !== 'SIGTERM' || now - askedAt > echoMs) hurried.abort()
    })
  return {
    asked: asked.signal,
    wait: delayMs => sleep(delayMs, undefined, { signal: hurried.signal }).catch(() => {}),
  }
}
