// The writes that record findings, for `writeTogether`.

import { Prisma } from '../../database/generated/client.ts'
import { systemActor } from '../../domain/events/actor.ts'
import type { NewEvent } from '../events/events.ts'
import type { LeasedFinding } from './finding.ts'
import { attemptsOf, writesStatus } from './quiet.ts'

const { sql } = Prisma

/** A finding whose lease is locked. */
export type HeldFinding = LeasedFinding & {
  /** Whether the desired state is that of the lease. Otherwise the finding records facts, and no status. */
  isCurrent: boolean
  /** Whether nothing was asked of the instance since the pass began. Otherwise a restart of the same kind may be another one. */
  isLatest: boolean
  dueAt: Date | null
}
type Writes = Record<string, Prisma.Sql>

/** Ends the leases. An outdated finding may have seen a container that a command has replaced since. */
export function lookWrites(held: readonly HeldFinding[]): Writes {
  if (held.length === 0) return {}
  const of = <Value>(value: (one: HeldFinding) => Value) => held.map(value)
  return {
    looks: sql`
      UPDATE instance_looks l SET leased_until = NULL, attempts = found.attempts,
        seen_at = CASE WHEN found.is_current THEN coalesce(found.seen_at, l.seen_at) ELSE l.seen_at END,
        due_at = CASE WHEN found.is_current THEN found.due_at ELSE l.due_at END
      FROM unnest(
        ${of(({ lease }) => String(lease.instanceId))}::bigint[], ${of(attemptsOf)}::int[], ${of(({ isCurrent }) => isCurrent)}::boolean[],
        ${of(({ finding }) => finding.seenAt)}::timestamptz[], ${of(({ dueAt }) => dueAt)}::timestamptz[]
      ) AS found (instance_id, attempts, is_current, seen_at, due_at) WHERE l.instance_id = found.instance_id RETURNING 1`,
  }
}

/** Whether a new status may change the next action of the policy. */
const followsStatusSql = sql`num_nonnulls(i.destroy_stopped_ms, i.replace_seconds) > 0`

/**
 * Writes what changes of the instances. A new status also makes the policy due: the stopped time may begin or end now, or the
 * instance may have to be replaced, so its next action must be computed again.
 */
export function instanceWrites(held: readonly HeldFinding[], at: Date): Writes {
  const changed = held.filter(changesInstance)
  if (changed.length === 0) return {}
  const of = <Value>(value: (one: HeldFinding) => Value) => changed.map(value)
  return {
    changed: sql`
      UPDATE instances i SET
        unreachable_at = CASE WHEN found.answered THEN NULL ELSE coalesce(i.unreachable_at, ${at}::timestamptz) END,
        started_at = CASE WHEN found.ran THEN coalesce(i.started_at, ${at}::timestamptz) ELSE i.started_at END,
        restart = CASE WHEN found.changes_restart THEN found.restart ELSE i.restart END,
        status = CASE WHEN found.writes_status THEN found.status ELSE i.status END,
        reason_code = CASE WHEN found.writes_status THEN found.reason_code ELSE i.reason_code END,
        reason_message = CASE WHEN found.writes_status THEN found.reason_message ELSE i.reason_message END,
        exit_code = CASE WHEN found.writes_status THEN found.exit_code ELSE i.exit_code END,
        status_changed_at = CASE WHEN found.writes_status AND found.status <> i.status THEN ${at}::timestamptz ELSE i.status_changed_at END,
        policy_due_at = CASE WHEN found.writes_status AND ${followsStatusSql} THEN ${at}::timestamptz ELSE i.policy_due_at END
      FROM unnest(
        ${of(({ lease }) => String(lease.instanceId))}::bigint[], ${of(({ finding }) => finding.answered)}::boolean[],
        ${of(({ finding }) => finding.ran)}::boolean[], ${of(changesRestart)}::boolean[],
        ${of(({ finding }) => finding.restart ?? null)}::restart[], ${of(recordsStatus)}::boolean[],
        ${of(({ finding }) => finding.status)}::instance_status[], ${of(({ finding }) => finding.reason?.code ?? null)}::text[],
        ${of(({ finding }) => finding.reason?.message ?? null)}::text[], ${of(({ finding }) => finding.reason?.exitCode ?? null)}::int[]
      ) AS found (id, answered, ran, changes_restart, restart, writes_status, status, reason_code, reason_message, exit_code)
      WHERE i.id = found.id RETURNING found.writes_status AND ${followsStatusSql} AS is_policy_due`,
    duePolicies: sql`SELECT FROM changed WHERE is_policy_due`,
  }
}

export function statusEvents(held: readonly HeldFinding[]): NewEvent[] {
  return held.filter(recordsStatus).map(({ lease, finding: { status, reason } }) => {
    const { instanceId, accountId } = lease
    const event = { kind: 'INSTANCE_STATUS_CHANGED' as const, accountId, actor: systemActor, instanceId }
    const after = { status, message: reason?.message, exitCode: reason?.exitCode }
    return { ...event, before: { status: lease.status }, after, ...(reason && { reason: reason.code }) }
  })
}

const recordsStatus = (one: HeldFinding) => one.isCurrent && writesStatus(one)
const changesRestart = ({ isLatest, finding }: HeldFinding) => isLatest && finding.restart !== undefined

function changesInstance(one: HeldFinding): boolean {
  const { lease, finding } = one
  const changesReach = finding.answered !== (lease.unreachableAt === null)
  return changesReach || (finding.ran && !lease.hasRun) || changesRestart(one) || recordsStatus(one)
}
