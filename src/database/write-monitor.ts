// Detects whether the database accepts writes. While writes succeed, the monitor writes nothing. After the server
// refused a write, the monitor tries a small write of its own, and repeats it until it succeeds.

import type pg from 'pg'
import type { Logger } from 'pino'
import { failureKindOf } from './failure-codes.ts'
import { queryAlone } from './pooler/guard.ts'

type WriteMonitor = {
  /** Tries a write after the server refused one with this error. */
  check(error: unknown): void
  /** Waits for a running trial first. */
  isFailing(): Promise<boolean>
  stop(): void
}
type WriteMonitorOptions = {
  pool: pg.Pool
  log: Logger
  onChange: (isFailing: boolean) => void
  retryMs?: number
}

/** Uses disk space, reaches the WAL, and leaves nothing behind. The function may create tables, unlike the gateway's role. */
const trialWrite = 'SELECT try_write()'

/** Shortest time between warnings about refused writes while other writes succeed. */
const warningIntervalMs = 60_000

export function monitorWrites({ pool, log, onChange, retryMs = 1_000 }: WriteMonitorOptions): WriteMonitor {
  let failing = false
  let stopped = false
  let checking: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let warnedAt = Number.NEGATIVE_INFINITY

  /** The trial decides: one refused write may be due to its table or its size. */
  async function checkWrites(error: unknown): Promise<void> {
    const fails = await tryWrite()
    if (stopped) return
    if (fails) {
      failing = true
      log.error({ err: error }, 'The database accepts no writes. Due work waits, and the gateway keeps trying.')
      onChange(true)
      timer = setTimeout(recheckWrites, retryMs)
    } else if (performance.now() - warnedAt > warningIntervalMs) {
      warnedAt = performance.now()
      log.warn({ err: error }, 'The database refused a statement, but accepts other writes.')
    }
  }

  async function recheckWrites(): Promise<void> {
    const fails = await tryWrite()
    if (stopped) return
    if (fails) {
      timer = setTimeout(recheckWrites, retryMs)
      return
    }
    failing = false
    log.info('The database accepts writes again. Due work continues.')
    onChange(false)
  }

  /** Whether writes fail. A database that cannot be reached counts as failing; readiness reports that separately. */
  async function tryWrite(): Promise<boolean> {
    const client = await pool.connect().catch(() => undefined)
    if (!client) return true
    let failure: unknown
    // A transaction, since it alone is checked behind a pooler.
    await queryAlone(client, trialWrite).catch((error: unknown) => {
      failure = error
    })
    // After a failure, drop the connection: it may lead to a standby, and its transaction failed.
    client.release(failure !== undefined)
    // If the trial itself is refused, it proves nothing.
    return failure !== undefined && failureKindOf(failure) !== undefined
  }

  return {
    check(error) {
      if (failing || stopped) return
      checking ??= checkWrites(error).finally(() => {
        checking = undefined
      })
    },
    async isFailing() {
      await checking
      return failing
    },
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}
