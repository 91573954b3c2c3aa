// Reads from standbys that need not be the newest. Each read asks its own connection how far its server is, since a balancer
// may lead connections to different standbys. A standby that is too far behind, or that fails, is passed over.

import type { Logger } from 'pino'
import type { Database } from '../client.ts'
import { createClock } from '../clock.ts'
import { isUnreachable } from '../failure-codes.ts'
import { Prisma } from '../generated/client.ts'
import { isOtherDatabase, readHistoryLine } from '../history/line.ts'
import { NoPlace } from '../places.ts'
import { ConnectionPool, paceReads } from '../pool.ts'
import { int4, text } from '../row-types.ts'
import { connectionLifetimeMs } from '../statement-names.ts'
import { traceStatements } from '../statement-spans.ts'
import { type Snapshot, snapshot } from '../transaction.ts'
import { createLag, parseLsn } from './lag.ts'

/** Reads of one snapshot of a standby. `decline` leaves the read to the primary. */
export type ReplicaReads = Pick<Snapshot, 'query' | 'read' | 'at' | 'nowSql'> & { decline(): never }
export type Replica = {
  /** Undefined if the primary has to read. */
  read<T>(work: (from: ReplicaReads) => Promise<T>): Promise<{ result: T; stalenessMs: number } | undefined>
  close(): Promise<void>
}
type ReplicaOptions = {
  url: string
  poolSize: number
  maxLagMs: number
  primary: Database
  log: Logger
  /** Replaces the database's clock in tests. */
  now?: (() => Date) | undefined
}

/** A request waits for the primary after this. */
const timeouts = {
  connectionTimeoutMillis: 1_000,
  statement_timeout: 3_000,
  query_timeout: 4_000,
  idle_in_transaction_session_timeout: 10_000,
}
const sampleMs = 1_000
/** How long standbys are left alone after one was behind, or did not answer. */
const pausesMs = { behind: 500, failed: 5_000 }

const placeSql = Prisma.sql`SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END::text AS lsn,
  epoch FROM outbox`
const placeShape = { lsn: text, epoch: int4 }

class Declined extends Error {}
class Behind extends Error {}
class OtherDatabase extends Error {}
const otherDatabaseMessage = 'DATABASE_REPLICA_URL leads to another database than the primary: nothing is read from it.'

export function openReplica({ url, poolSize, maxLagMs, primary, log, now }: ReplicaOptions): Replica {
  const pool = new ConnectionPool({
    ...{ connectionString: url, max: poolSize, maxLifetimeSeconds: connectionLifetimeMs / 1_000, keepAlive: true },
    ...{ pipeline: true, application_name: 'berth replica', options: '-c jit=off' },
    ...timeouts,
    onConnect: async client => {
      const [own, known] = await Promise.all([readHistoryLine(client), readHistoryLine(primary.pool)])
      if (isOtherDatabase(own.name, known.name)) throw new OtherDatabase(otherDatabaseMessage)
    },
  })
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  pool.on('connect', paceReads)
  pool.on('connect', traceStatements)
  const { prisma, nameOfRepeated } = primary
  // The clock of a standby is another one.
  const reads = { pool, prisma, nameOfRepeated, clock: createClock(now), notify: () => {}, onRefusal: () => {} }
  const lag = createLag(maxLagMs)
  let sampling = false
  let pausedUntilMs = 0
  let isPassedOver = false

  function pause(error: unknown): void {
    const isBehind = error instanceof Behind
    const isFault = error instanceof OtherDatabase || (isUnreachable(error) && !(error instanceof NoPlace))
    if (!isBehind && !isFault) return
    pausedUntilMs = performance.now() + (isBehind ? pausesMs.behind : pausesMs.failed)
    if (!isPassedOver) log.warn({ err: error }, 'Replicas are passed over. The primary answers what they would.')
    isPassedOver = true
  }

  /** Costs the primary one small statement a second, while there are reads. */
  function sampleSoon(): void {
    if (sampling || lag.sampleAgeMs(performance.now()) < sampleMs) return
    sampling = true
    const askedMs = performance.now()
    primary
      .query(placeSql, placeShape)
      .then(([row]) => row && lag.note({ lsn: parseLsn(row.lsn), epoch: row.epoch }, askedMs))
      // Reads go to the primary, which says what is wrong.
      .catch(() => {})
      .finally(() => {
        sampling = false
      })
  }

  async function readOnce<T>(work: (from: ReplicaReads) => Promise<T>) {
    return await snapshot(reads, async tx => {
      const [row] = await tx.query(placeSql, placeShape)
      const stalenessMs = row && lag.stalenessMs({ lsn: parseLsn(row.lsn), epoch: row.epoch }, performance.now())
      if (stalenessMs === undefined) throw new Behind('The replica is too far behind the primary.')
      const { query, read, at } = tx
      return { result: await work({ query, read, at, nowSql: primary.nowSql, decline }), stalenessMs }
    })
  }

  return {
    async read(work) {
      sampleSoon()
      const nowMs = performance.now()
      if (nowMs < pausedUntilMs || lag.sampleAgeMs(nowMs) > maxLagMs) return undefined
      try {
        const answer = await readOnce(work)
        if (isPassedOver) log.info('Replicas answer again.')
        isPassedOver = false
        return answer
      } catch (error) {
        // Whatever it is, the primary says it again if it is not due to the replica.
        pause(error)
        return undefined
      }
    },
    close: () => pool.end(),
  }
}

function decline(): never {
  throw new Declined('The replica cannot answer this.')
}
