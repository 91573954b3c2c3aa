// Loads the facts that decide the next policy action of an instance, and schedules that action.

import { Prisma } from '../../../database/generated/client.ts'
import { bool, enumeration, int2, int4, int8, json, nullable, timestamptz } from '../../../database/row-types.ts'
import { columnsSql } from '../../../database/rows.ts'
import { writeTogether } from '../../../database/together.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { CostMeter } from '../../../domain/billing/costs.ts'
import type { StartRefusals } from '../../../domain/instances/command.ts'
import {
  nextPolicyAction,
  type PolicyFacts,
  policyMeterEnds,
  startRefusal,
} from '../../../domain/instances/policy/policy.ts'
import type { InstanceStatus, TargetState } from '../../../domain/instances/states.ts'
import type { AccountBalance } from '../../billing/balance.ts'
import { ownMetersSql } from '../../billing/sql.ts'
import { hasPolicySql } from '../sql.ts'
import { idledSql } from './idle.ts'

const { sql } = Prisma

type MeterRow = [
  kind: CostMeter['kind'],
  rate: string,
  since: string,
  carried: number,
  charged: string,
  end: string | null,
]

const metersSql = sql`(
  SELECT json_agg(json_build_array(m.kind, m.rate_nanos::text, m.since, m.carried, m.charged_nanos::text,
    (SELECT min(e.at) FROM meter_ends e WHERE e.meter_id = m.id))) FROM meters m WHERE m.instance_id = i.id)`

const startFailedSql = sql`CASE WHEN i.replace_seconds IS NULL THEN false
  ELSE (SELECT 1 FROM failed_starts f WHERE f.instance_id = i.id) IS NOT NULL END`

/**
 * The policy facts by instance id; an unknown id is left out. Every transaction that changes these facts locks the
 * instance or its account.
 */
export async function loadPolicyFacts(
  tx: Transaction,
  ids: readonly bigint[],
  which: Prisma.Sql = sql`true`,
): Promise<Map<bigint, PolicyFacts>> {
  const rows = await tx.query(
    sql`
      SELECT ${columnsSql('i', factColumns)}, ${metersSql} AS meters, ${idledSql(tx.nowSql)} AS idled_seconds,
        ${startFailedSql} AS start_failed
      FROM instances i WHERE i.id = ANY(${ids.map(String)}::bigint[]) AND ${which}`,
    { ...factColumns, meters: nullable(json<MeterRow[]>()), idledSeconds: nullable(int4), startFailed: bool },
  )
  return new Map(
    rows.map(({ id, meters, ...facts }) => [id, { ...facts, meters: (meters ?? []).map(toMeter) }] as const),
  )
}

const factColumns = {
  ...{ id: int8, createdAt: timestamptz, endsAt: timestamptz, destroyedAt: nullable(timestamptz) },
  ...{
    announcedAt: nullable(timestamptz),
    targetState: enumeration<TargetState>(),
    status: enumeration<InstanceStatus>(),
  },
  ...{ statusChangedAt: timestamptz, claimedAt: timestamptz, gpuPriceNanos: int8, stopAt: nullable(timestamptz) },
  ...{ stopAtCostNanos: nullable(int8), destroyAt: nullable(timestamptz), destroyStoppedMs: nullable(int8) },
  ...{ idleGpuPercent: nullable(int2), idleSeconds: nullable(int4), replaceSeconds: nullable(int4) },
  startedAt: nullable(timestamptz),
}

function toMeter([kind, rate, since, carried, charged, end]: MeterRow): PolicyFacts['meters'][number] {
  return {
    ...{ kind, carried },
    rateNanos: BigInt(rate),
    since: new Date(since),
    chargedNanos: BigInt(charged),
    end: end === null ? null : new Date(end),
  }
}

/** Schedules the next action of one instance, as `scheduleNextActions` does. */
export async function scheduleNextAction(
  tx: Transaction,
  account: AccountBalance,
  instanceId: bigint,
  at: Date,
): Promise<void> {
  await scheduleNextActions(tx, [account], [instanceId], at)
}

/**
 * Writes when the next actions are due, and when the meters end by policy. The caller must have locked the instances, and
 * then their accounts.
 */
export async function scheduleNextActions(
  tx: Transaction,
  accounts: readonly AccountBalance[],
  instanceIds: readonly bigint[],
  at: Date,
): Promise<void> {
  const planned = [...(await loadPolicyFacts(tx, instanceIds))].map(([id, facts]) => {
    return { id, dueAt: nextPolicyAction(facts, at)?.at ?? null, ...policyMeterEnds(facts) }
  })
  if (planned.length === 0) return
  const of = <Value>(value: (one: (typeof planned)[number]) => Value) => planned.map(value)
  const ids = of(({ id }) => String(id))
  const kinds = ['gpu', 'disk'] as const
  await writeTogether(tx, {
    due: sql`
      UPDATE instances SET policy_due_at = next.due_at FROM unnest(${ids}::bigint[], ${of(({ dueAt }) => dueAt)}::timestamptz[])
        AS next(id, due_at) WHERE instances.id = next.id RETURNING 1`,
    ends: sql`
      UPDATE meters m SET ends_at = until FROM unnest(
        ${kinds.flatMap(() => ids)}::bigint[], ${kinds.flatMap(kind => of(() => kind))}::charge_kind[],
        ${kinds.flatMap(kind => of(one => one[kind]))}::timestamptz[]
      ) AS of(instance_id, charged, until)
      WHERE m.instance_id = of.instance_id AND m.kind = charged AND ${ownMetersSql(...accounts.map(({ accountId }) => accountId))}
      AND ends_at IS DISTINCT FROM until RETURNING 1`,
  })
  if (planned.some(({ dueAt }) => dueAt !== null && dueAt <= at)) tx.notifyAfterCommit('policies')
}

/** Instances whose policy forbids starting now, and why. */
export async function loadStartRefusals(tx: Transaction, ids: readonly bigint[], at: Date): Promise<StartRefusals> {
  // Of the others, `startRefusal` refuses none.
  const facts = await loadPolicyFacts(tx, ids, sql`(${hasPolicySql} OR i.ends_at <= ${at})`)
  return new Map(
    [...facts].flatMap(([id, one]) => {
      const refusal = startRefusal(one, at)
      return refusal === undefined ? [] : [[id, refusal] as const]
    }),
  )
}
