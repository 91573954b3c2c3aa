// Loads the facts that decide the next policy action of an instance, and schedules that action.

import { Prisma } from '../../../database/generated/client.ts'
import { enumeration, int8, json, nullable, timestamptz } from '../../../database/row-types.ts'
import { columnsSql } from '../../../database/rows.ts'
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

/**
 * The policy facts by instance id; an unknown id is left out. Every transaction that changes these facts locks the
 * instance or its account.
 */
export async function loadPolicyFacts(tx: Transaction, ids: readonly bigint[]): Promise<Map<bigint, PolicyFacts>> {
  const rows = await tx.query(
    sql`
      SELECT ${columnsSql('i', factColumns)}, ${metersSql} AS meters
      FROM instances i WHERE i.id = ANY(${ids.map(String)}::bigint[])`,
    { ...factColumns, meters: nullable(json<MeterRow[]>()) },
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

/**
 * Writes when the next action is due, and when the meters end by policy. The caller must have locked the instance, and
 * then its account.
 */
export async function scheduleNextAction(
  tx: Transaction,
  { accountId }: AccountBalance,
  instanceId: bigint,
  at: Date,
): Promise<void> {
  const facts = (await loadPolicyFacts(tx, [instanceId])).get(instanceId)
  if (!facts) return
  const { gpu, disk } = policyMeterEnds(facts)
  await tx.execute(sql`
    UPDATE instances SET policy_due_at = ${nextPolicyAction(facts, at)?.at ?? null}::timestamptz WHERE id = ${instanceId}`)
  await tx.execute(sql`
    UPDATE meters m SET ends_at = until FROM (VALUES ('gpu'::charge_kind, ${gpu}::timestamptz), ('disk', ${disk}))
      AS of(charged, until) WHERE kind = charged AND instance_id = ${instanceId} AND ${ownMetersSql(accountId)}
    AND ends_at IS DISTINCT FROM until`)
  tx.notifyAfterCommit()
}

/** Instances whose policy forbids starting now, and why. */
export async function loadStartRefusals(tx: Transaction, ids: readonly bigint[], at: Date): Promise<StartRefusals> {
  const facts = await loadPolicyFacts(tx, ids)
  return new Map(
    [...facts].flatMap(([id, one]) => {
      const refusal = startRefusal(one, at)
      return refusal === undefined ? [] : [[id, refusal] as const]
    }),
  )
}
