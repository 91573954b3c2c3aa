// Whether the database takes writes. Nothing is written to find that out while they succeed: where the server refuses one,
// a small write of its own kind is tried. While that fails it is tried again and again.

import type pg from 'pg'
import type { Logger } from 'pino'
import { failureKindOf } from './failure-codes.ts'

export type WriteMonitor = {
  /** Tries a write, after the server refused one with this error. */
  check(error: unknown): void
  /** Waits for the trial that a refused write began. */
  isFailing(): Promise<boolean>
  stop(): void
}
export type WriteMonitorOptions = {
  pool: pg.Pool
  log: Logger
  onChange: (isFailing: boolean) => void
  retryMs?: number
}

/** It takes room on the disk, reaches the log of the server, needs no right but to migrate, and leaves nothing behind. */
const trialWrite = `
  BEGIN;
  CREATE TABLE berth_trial AS SELECT repeat(md5(i::text), 50) AS filler FROM generate_series(1, 100) AS i;
  DROP TABLE berth_trial;
  COMMIT`

/** A write that is refused while others succeed is logged so often at most. */
const warningIntervalMs = 60_000

export function monitorWrites({ pool, log, onChange, retryMs = 1_000 }: WriteMonitorOptions): WriteMonitor {
  let failing = false
  let stopped = false
  let checking: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let warnedAt = Number.NEGATIVE_INFINITY

  /** One refused write may be the fault of its table or of its size. */
  async function checkWrites(error: unknown): Promise<void> {
    const fails = await tryWrite()
    if (stopped) return
    if (fails) {
      failing = true
      log.error({ err: error }, 'The database takes no writes. It is tried until it does, and due work waits.')
      onChange(true)
      timer = setTimeout(recheckWrites, retryMs)
    } else if (performance.now() - warnedAt > warningIntervalMs) {
      warnedAt = performance.now()
      log.warn({ err: error }, 'The database refused to do something, and takes other writes.')
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
    log.info('The database takes writes again, and due work is done.')
    onChange(false)
  }

  /** Whether writes fail. A database that cannot be reached counts as failing; readiness reports that separately. */
  async function tryWrite(): Promise<boolean> {
    const client = await pool.connect().catch(() => undefined)
    if (!client) return true
    let failure: unknown
    await client.query(trialWrite).catch((error: unknown) => {
      failure = error
    })
    // The connection may lead to a standby, and be in a transaction that failed.
    client.release(failure !== undefined)
    // For a role that may not create tables the trial proves nothing.
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
