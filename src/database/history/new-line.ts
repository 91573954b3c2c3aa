// What changes when the database goes on along another line of history, which may lack the last changes.

import type pg from 'pg'
import type { Logger } from 'pino'

/** `completeUntil`: the database has all changes up to here, and may lack later ones; null if it cannot tell. */
export type NewLine = { epoch: number; completeUntil: Date | null }

export function logFailover(log: Logger): (line: NewLine) => void {
  const message =
    'The database failed over to another server. Changes after completeUntil may be lost. Event cursors have expired, and all instances are observed anew.'
  return line => log.warn(line, message)
}

/**
 * The next epoch, for the table `outbox`. Counted in seconds, so that two lines of history that began apart never have the
 * same epoch: a second standby may be promoted without having seen that a first one was.
 */
export const nextEpochSql = "GREATEST(epoch + 1, extract(epoch FROM now() - timestamptz '2026-01-01Z')::int)"

/** A statement that changes rows of all instances or events, which may take minutes. Other statements time out within seconds. */
export function longStatement(text: string, values: unknown[] = []): pg.QueryConfig {
  return { text, values, query_timeout: 600_000 } as pg.QueryConfig
}

/**
 * Begins an epoch and notes it. Ids that the lost line gave are not given again. All instances are due for a look. Runs
 * before any gateway uses the new line. `restoredUntil` is the time of the backup that began it; null after a fail-over.
 */
export async function beginLine(
  client: pg.ClientBase,
  { name, witnessed, restoredUntil = null }: { name: string; witnessed: boolean; restoredUntil?: Date | null },
): Promise<NewLine> {
  await client.query(`UPDATE outbox SET epoch = ${nextEpochSql}`)
  await client.query(jumpSql)
  const { rows } = await client.query(longStatement(noteSql, [name, witnessed, restoredUntil]))
  await client.query(longStatement(makeDueSql))
  return rows[0]
}

/** A transaction takes its ids some seconds before it commits, so those of the last minute may have gaps. */
const lastIdSql = (table: string) =>
  `coalesce((SELECT id FROM ${table}, line WHERE created_at < complete_until - interval '1 minute' ORDER BY id DESC LIMIT 1), 0)`

/** A promoted standby knows its last transaction until it restarts. Later, the last event has to do. */
const noteSql = `
  WITH line AS MATERIALIZED (
    SELECT coalesce($3::timestamptz, pg_last_xact_replay_timestamp(), (SELECT created_at FROM events ORDER BY id DESC LIMIT 1))
      AS complete_until
  )
  INSERT INTO failovers
    (epoch, line, witnessed, restored, noticed_at, complete_until, instances_after, instances_until, volumes_after, volumes_until)
  SELECT epoch, $1, $2, $3::timestamptz IS NOT NULL, clock_timestamp(), complete_until, ${lastIdSql('instances')}, i.last_value, ${lastIdSql('volumes')}, v.last_value
  FROM outbox, line, instances_id_seq i, volumes_id_seq v
  RETURNING epoch, complete_until AS "completeUntil"`

/**
 * Far more ids than can be lost, and few of those that are left. Asks each sequence itself: `pg_sequences` does not know where
 * one stands that was set and has given no id since, as that of events when a partition begins.
 */
const jumpSql = `
  DO $$
  DECLARE
    sequence record;
  BEGIN
    FOR sequence IN SELECT format('%I.%I', schemaname, sequencename) AS name, max_value FROM pg_sequences WHERE schemaname = 'public'
    LOOP
      EXECUTE format('SELECT setval(%L, last_value + least(1000000, (%s - last_value) / 1000)) FROM %s',
        sequence.name, sequence.max_value, sequence.name);
    END LOOP;
  END $$`

const makeDueSql = `
  UPDATE instance_looks SET generation = generation + 1, due_at = now()
  WHERE instance_id IN (SELECT id FROM instances WHERE removed_at IS NULL)`
