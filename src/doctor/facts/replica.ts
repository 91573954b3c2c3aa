import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { isOtherDatabase, readHistoryLine } from '../../database/history/line.ts'
import { parseLsn } from '../../database/replica/lag.ts'
import type { ReplicaFacts } from '../verdicts/replica.ts'

const lookMs = 50

/** Waits until the standby has what the primary has now, but no longer than reads of it would accept. */
export async function gatherReplica(primary: pg.Client, standby: pg.Client, maxLagMs: number): Promise<ReplicaFacts> {
  const [known, line] = [await readHistoryLine(primary), await readHistoryLine(standby)]
  const facts = { isStandby: line.standby, isOtherDatabase: isOtherDatabase(line.name, known.name), maxLagMs }
  if (!facts.isStandby || facts.isOtherDatabase) return { ...facts, lagMs: 0 }
  const wanted = await readPlace(primary, 'pg_current_wal_lsn()')
  const start = performance.now()
  for (;;) {
    const lagMs = performance.now() - start
    if ((await readPlace(standby, 'pg_last_wal_replay_lsn()')) >= wanted) return { ...facts, lagMs }
    if (lagMs > maxLagMs) return { ...facts, lagMs: null }
    await sleep(lookMs)
  }
}

async function readPlace(client: pg.Client, place: string): Promise<bigint> {
  const { rows } = await client.query<{ lsn: string }>(`SELECT ${place}::text AS lsn`)
  return parseLsn(rows[0]?.lsn ?? '0/0')
}
