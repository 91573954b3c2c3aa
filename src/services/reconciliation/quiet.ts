// Records quiet findings: those that change nothing but when the instance was seen, and when its next pass is due.

import type { Database } from '../../database/client.ts'
import { Prisma } from '../../database/generated/client.ts'
import { int8 } from '../../database/row-types.ts'
import { isFinal } from '../../domain/instances/states.ts'
import type { LeasedFinding } from './finding.ts'
import { meterChangesOf } from './meters.ts'

const { sql } = Prisma

export function isQuiet(one: LeasedFinding): boolean {
  const { lease, finding } = one
  return !(
    writesStatus(one) ||
    (isFinal(finding.status) && !isFinal(lease.status)) ||
    (finding.ran && !lease.hasRun) ||
    finding.gone ||
    finding.restart !== undefined ||
    finding.answered !== (lease.unreachableAt === null) ||
    finding.unconfirmed !== (lease.unconfirmedAt !== null) ||
    (lease.occupiesGpus && !finding.usesGpus) ||
    meterChangesOf(lease, finding) !== undefined
  )
}

/** Whether the status or its reason is new. An ended instance keeps the reason of its end, and a destroyed one that of its destruction. */
export function writesStatus({ lease, finding: { status, reason } }: LeasedFinding): boolean {
  if (isFinal(lease.status) || lease.destroyed) return false
  return status !== lease.status || (reason?.code ?? null) !== lease.reasonCode
}

/**
 * Records quiet findings in one statement, and releases their leases. Leaves out those whose instances changed
 * meanwhile, and rows that another transaction has locked. It needs no machine's lock: it changes nothing that the market reads.
 */
export async function recordQuiet(database: Database, quiet: readonly LeasedFinding[]): Promise<LeasedFinding[]> {
  if (quiet.length === 0) return []
  const { nowSql } = database
  const of = <Value>(value: (one: LeasedFinding) => Value) => quiet.map(value)
  const statement = sql`
    WITH held AS MATERIALIZED (
      SELECT l.instance_id, found.place, found.attempts, found.seen_at, found.due_at FROM unnest(
        ${of(({ lease }) => String(lease.instanceId))}::bigint[], ${of(({ lease }) => lease.leasedUntil)}::timestamptz[],
        ${of(({ lease }) => lease.generation)}::int[], ${of(attemptsOf)}::int[], ${of(({ finding }) => finding.seenAt)}::timestamptz[],
        ${of(({ finding }) => finding.dueAt)}::timestamptz[]
      ) WITH ORDINALITY AS found (instance_id, leased_until, generation, attempts, seen_at, due_at, place)
      JOIN instance_looks l ON l.instance_id = found.instance_id AND l.leased_until = found.leased_until
        AND l.generation = found.generation
      WHERE l.leased_until > ${nowSql} ORDER BY l.instance_id FOR NO KEY UPDATE OF l SKIP LOCKED
    )
    UPDATE instance_looks l SET leased_until = NULL, attempts = held.attempts, due_at = held.due_at,
      seen_at = coalesce(held.seen_at, l.seen_at) FROM held WHERE l.instance_id = held.instance_id RETURNING held.place`
  const rows = await database.query(statement, { place: int8 })
  return rows.map(({ place }) => quiet[Number(place) - 1] as LeasedFinding)
}

/** Consecutive passes that failed or must be retried. */
export function attemptsOf({ lease, finding }: LeasedFinding): number {
  return finding.needsRetry ? lease.attempts + 1 : 0
}
