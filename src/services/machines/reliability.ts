// Notes which machines do not answer, and lowers the reliability of those that failed.

import { Prisma } from '../../database/generated/client.ts'
import { float8, int4, timestamptz } from '../../database/row-types.ts'
import { writeTogether } from '../../database/together.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import { isReliabilityOutdated, keptHistoryMs, reliabilityOf } from '../../domain/machines/reliability.ts'
import type { DataDeps } from '../deps.ts'
import { lockFreeMachines } from './lock.ts'

const { sql } = Prisma

const minuteMs = 60_000
/** After a longer time, no gateway has run: it is not known which machines would have answered. */
const longestGapMs = 5 * minuteMs
const updateMs = 5 * minuteMs
/** Machines that are changed at once. A rental of one of them waits for all. */
const mostChanged = 100

export function reliabilityChores({ database }: DataDeps) {
  return {
    /** Does nothing while another gateway does the same. */
    async updateReliabilities(): Promise<number> {
      await transaction(database, async tx => {
        const [progress] = await tx.query(
          sql`SELECT noted_until, updated_at FROM reliability_progress FOR UPDATE SKIP LOCKED`,
          { notedUntil: timestamptz, updatedAt: timestamptz },
        )
        if (!progress) return
        const { at } = tx
        await noteSilentMachines(tx, progress.notedUntil, at)
        // Absolute, since the clock may have been set back.
        const isDue = Math.abs(at.getTime() - progress.updatedAt.getTime()) >= updateMs
        const isDone = isDue && (await updateReliabilities(tx, at))
        await tx.execute(sql`
          UPDATE reliability_progress SET noted_until = ${at}, updated_at = ${isDone ? at : progress.updatedAt}`)
      })
      return 0
    },
  }
}

/**
 * Adds the time since the last note to the machines that do not answer: for one of their instances, or because the agent of
 * their host is not connected. A drained machine may be down.
 */
async function noteSilentMachines(tx: Transaction, since: Date, at: Date): Promise<void> {
  const ms = at.getTime() - since.getTime()
  if (ms < 1_000 || ms > longestGapMs) return
  const forLong = new Date(at.getTime() - minuteMs)
  await tx.execute(sql`
    INSERT INTO silent_days AS d (machine_id, day, seconds)
    SELECT m.id, (${at}::timestamptz AT TIME ZONE 'UTC')::date, ${Math.round(ms / 1_000)}::int FROM machines m
    WHERE m.drained_at IS NULL AND m.id = ANY(ARRAY(
      SELECT i.machine_id FROM instances i WHERE i.unreachable_at <= ${forLong}::timestamptz AND i.removed_at IS NULL
      UNION SELECT a.machine_id FROM agents a
      WHERE a.key_hash IS NOT NULL AND greatest(a.held_until, a.released_at, a.joined_at) <= ${forLong}::timestamptz
    )) ORDER BY m.id
    ON CONFLICT (machine_id, day) DO UPDATE SET seconds = least(d.seconds + excluded.seconds, 86400)`)
}

const historyRow = { id: int4, current: float8, listed: float8, silentSeconds: int4, failedAccounts: int4 }

/**
 * Writes the reliabilities that have changed enough. A trigger copies them to the offers. Returns false if more machines are left
 * for the next time.
 */
async function updateReliabilities(tx: Transaction, at: Date): Promise<boolean> {
  const since = new Date(at.getTime() - keptHistoryMs)
  const histories = await tx.query(
    sql`
      WITH silent AS (
        SELECT machine_id, sum(seconds)::int AS seconds FROM silent_days
        WHERE day > (${since}::timestamptz AT TIME ZONE 'UTC')::date GROUP BY machine_id
      ), failed AS (
        SELECT machine_id, count(DISTINCT account_id)::int AS accounts FROM failed_starts
        WHERE by_machine AND at > ${since}::timestamptz GROUP BY machine_id
      )
      SELECT m.id, m.reliability AS current, coalesce(l.reliability, m.reliability) AS listed,
        coalesce(s.seconds, 0) AS silent_seconds, coalesce(f.accounts, 0) AS failed_accounts
      FROM machines m LEFT JOIN listed_reliabilities l ON l.machine_id = m.id
        LEFT JOIN silent s ON s.machine_id = m.id LEFT JOIN failed f ON f.machine_id = m.id
      WHERE m.id = ANY(ARRAY(SELECT machine_id FROM silent UNION SELECT machine_id FROM failed
        UNION SELECT machine_id FROM listed_reliabilities))`,
    historyRow,
  )
  const outdated = histories
    .map(({ id, current, listed, ...history }) => ({ id, current, listed, next: reliabilityOf(listed, history) }))
    .filter(({ current, listed, next }) => isReliabilityOutdated(current, next, listed))
  await writeReliabilities(tx, outdated.slice(0, mostChanged))
  return outdated.length <= mostChanged
}

type Change = { id: number; listed: number; next: number }

/** Leaves out machines that another transaction has locked: they are changed the next time. */
async function writeReliabilities(tx: Transaction, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return
  const free = new Set(
    (
      await lockFreeMachines(
        tx,
        changes.map(({ id }) => id),
      )
    ).map(({ id }) => id),
  )
  const changed = changes.filter(({ id }) => free.has(id))
  const of = <Value>(value: (change: Change) => Value, which = changed) => which.map(value)
  const isBack = ({ listed, next }: Change) => next === listed
  const lowered = of(
    ({ id }) => id,
    changed.filter(change => !isBack(change)),
  )
  const written = await writeTogether(tx, {
    kept: sql`
      INSERT INTO listed_reliabilities (machine_id, reliability) SELECT id, reliability FROM machines
      WHERE id = ANY(${lowered}::int[]) ON CONFLICT DO NOTHING RETURNING 1`,
    forgotten: sql`
      DELETE FROM listed_reliabilities WHERE machine_id = ANY(${of(({ id }) => id, changed.filter(isBack))}::int[]) RETURNING 1`,
    reliabilities: sql`
      UPDATE machines SET reliability = changed.reliability
      FROM unnest(${of(({ id }) => id)}::int[], ${of(({ next }) => next)}::float8[]) AS changed(id, reliability)
      WHERE machines.id = changed.id RETURNING 1`,
  })
  // Streams of offers have no events: they read which offers changed.
  if (written['reliabilities']) tx.notifyAfterCommit('events')
}
