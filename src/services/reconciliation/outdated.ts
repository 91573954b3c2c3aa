// Findings of older generations: what is desired may have changed since their passes began.

import { Prisma } from '../../database/generated/client.ts'
import { bool, enumeration, int8, nullable } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Restart, TargetState } from '../../domain/instances/states.ts'
import { holdsGpusSql, isChargedSql } from '../instances/sql.ts'
import type { LeasedFinding } from './finding.ts'

const desired = {
  ...{ id: int8, targetState: enumeration<TargetState>(), restart: nullable(enumeration<Restart>()) },
  ...{ holdsGpus: bool, destroyed: bool, charged: bool },
}

/**
 * Those that hold all the same, with whether they are charged now: their machines have answered, and the same is desired of their
 * locked instances again. Otherwise a renter who changes something during each pass would keep an end, or the begin of a charge,
 * from being recorded. A machine that did not answer may be back since.
 */
export async function findStillTrue(tx: Transaction, outdated: readonly LeasedFinding[]): Promise<LeasedFinding[]> {
  const answered = outdated.filter(({ finding }) => finding.answered)
  if (answered.length === 0) return []
  const rows = await tx.query(
    Prisma.sql`
      SELECT i.id, i.target_state, i.restart, ${holdsGpusSql} AS holds_gpus, i.destroyed_at IS NOT NULL AS destroyed,
        ${isChargedSql} AS charged
      FROM instances i WHERE i.id = ANY(${answered.map(({ lease }) => String(lease.instanceId))}::bigint[])`,
    desired,
  )
  const now = new Map(rows.map(row => [row.id, row]))
  return answered.flatMap(({ lease, finding }) => {
    const row = now.get(lease.instanceId)
    const isSame = (['targetState', 'restart', 'holdsGpus', 'destroyed'] as const).every(
      fact => row?.[fact] === lease[fact],
    )
    return row && isSame ? [{ lease: { ...lease, charged: row.charged }, finding }] : []
  })
}
