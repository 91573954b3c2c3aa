// Whether the database takes writes. Nothing is written to find that out while they succeed: a write that the server
// refuses is noticed, and from then on a small one is tried until it succeeds.

import type { EventEmitter } from 'node:events'
import type pg from 'pg'
import type { Logger } from 'pino'
import { meaningOf } from './failure-codes.ts'
import { refusal } from './transaction.ts'

export type Writable = { isFailing(): boolean; stop(): void }
export type WritableOptions = { pool: pg.Pool; log: Logger; onChange: (isFailing: boolean) => void; everyMs?: number }

/** It takes room on the disk, reaches the log of the server, and leaves nothing behind. */
const trial = `
  BEGIN;
  CREATE TEMP TABLE berth_trial ON COMMIT DROP AS SELECT repeat(md5(i::text), 50) AS filler FROM generate_series(1, 100) AS i;
  COMMIT`

export function watchWrites({ pool, log, onChange, everyMs = 1_000 }: WritableOptions): Writable {
  let failing = false
  let stopped = false
  let timer: NodeJS.Timeout | undefined

  const onRefusal = (error: unknown) => {
    if (failing || stopped) return
    failing = true
    log.error({ err: error }, 'The database takes no writes. It is tried until it does, and due work waits.')
    onChange(true)
    void tryOut()
  }
  pool.on(refusal as 'error', onRefusal)

  async function tryOut(): Promise<void> {
    const still = await attempt()
    if (stopped) return
    if (still) {
      timer = setTimeout(tryOut, everyMs)
      return
    }
    failing = false
    log.info('The database takes writes again, and due work is done.')
    onChange(false)
  }

  /** Whether writes still fail. A database that is not reached is told of elsewhere, and tried again here. */
  async function attempt(): Promise<boolean> {
    const client = await pool.connect().catch(() => undefined)
    if (!client) return true
    let failure: unknown
    await client.query(trial).catch((error: unknown) => {
      failure = error
    })
    // The connection may lead to a standby, and be in a transaction that failed.
    client.release(failure !== undefined)
    // A role that may make no such table is told nothing by this.
    return failure !== undefined && meaningOf(failure) !== undefined
  }

  return {
    isFailing: () => failing,
    stop() {
      stopped = true
      clearTimeout(timer)
      ;(pool as EventEmitter).off(refusal, onRefusal)
    },
  }
}
