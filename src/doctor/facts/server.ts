import type pg from 'pg'
import { clockWarningMs } from '../../database/clock-check.ts'
import { listenerName } from '../../database/wake-ups.ts'
import type { ClockFacts } from '../verdicts/clock.ts'
import type { ConnectionsFacts } from '../verdicts/connections.ts'
import type { DurabilityFacts, ServerFacts, UpkeepFacts } from '../verdicts/server.ts'

async function readRow<Row extends pg.QueryResultRow>(client: pg.Client, sql: string): Promise<Row> {
  const { rows } = await client.query<Row>(sql)
  // A SELECT without FROM answers one row.
  return rows[0] as Row
}

export async function gatherServer(client: pg.Client, database: string): Promise<ServerFacts> {
  const row = await readRow<Omit<ServerFacts, 'database'>>(
    client,
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS "versionNumber",
      current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS "isStandby",
      pg_database_size(current_database())::float8 AS bytes`,
  )
  return { database, ...row }
}

export function gatherDurability(client: pg.Client): Promise<DurabilityFacts> {
  return readRow(
    client,
    `SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
      current_setting('synchronous_commit') AS "synchronousCommit"`,
  )
}

export function gatherUpkeep(client: pg.Client): Promise<UpkeepFacts> {
  return readRow(
    client,
    `SELECT current_setting('autovacuum') AS autovacuum, current_setting('track_counts') AS "trackCounts",
      current_setting('wal_level') AS "walLevel",
      current_setting('archive_mode') <> 'off' AND (
        SELECT last_failed_time > coalesce(last_archived_time, '-infinity') FROM pg_stat_archiver
      ) IS TRUE AS "isArchiveFailing",
      (SELECT coalesce(json_agg(json_build_object('name', slot_name,
          'bytes', pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn))), '[]')
        FROM pg_replication_slots WHERE NOT active AND restart_lsn IS NOT NULL) AS "idleSlots"`,
  )
}

/** A gateway listens for wake-ups on one connection of this name. */
export async function gatherConnections(client: pg.Client, needed: number): Promise<ConnectionsFacts> {
  const row = await readRow<Omit<ConnectionsFacts, 'needed'>>(
    client,
    `SELECT current_setting('max_connections')::int AS max,
      current_setting('superuser_reserved_connections')::int
        + coalesce(current_setting('reserved_connections', true)::int, 0) AS reserved,
      (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS "roleLimit",
      (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS "databaseLimit",
      (SELECT sum(numbackends)::int FROM pg_stat_database) AS used,
      (SELECT count(*)::int FROM pg_stat_activity
        WHERE application_name = '${listenerName}' AND datname = current_database()) AS gateways`,
  )
  return { ...row, needed }
}

export async function gatherClock(client: pg.Client): Promise<ClockFacts> {
  const before = Date.now()
  const { now } = await readRow<{ now: Date }>(client, 'SELECT clock_timestamp() AS now')
  const after = Date.now()
  // The server read its clock between both.
  const [least, most] = [before - now.getTime(), after - now.getTime()]
  return { aheadMs: least > 0 ? least : Math.min(0, most), warningMs: clockWarningMs }
}
