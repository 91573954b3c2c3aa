// Loads the facts that decide the next policy action of an instance, and schedules that action.

import { Prisma } from '../../../database/generated/client.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { CostMeter } from '../../../domain/billing/costs.ts'
import type { StartRefusals } from '../../../domain/instances/command.ts'
import {
  nextPolicyAction,
  type PolicyFacts,
  policyMeterEnds,
  startRefusal,
} from '../../../domain/instances/policy/policy.ts'
import type { AccountBalance } from '../../billing/balance.ts'

const { sql } = Prisma

type MeterRow = [kind: CostMeter['kind'], rate: string, since: string, carried: number, charged: string, end: string]

const metersSql = sql`(
  SELECT json_agg(json_build_array(m.kind, m.rate_nanos::text, m.since, m.carried, m.charged_nanos::text,
    (SELECT min(e.at) FROM meter_ends e WHERE e.meter_id = m.id))) FROM meters m WHERE m.instance_id = i.id)`

/**
 * The policy facts by instance id; an unknown id is left out. Every transaction that changes these facts locks the
 * instance or its account.
 */
export async function loadPolicyFacts(tx: Transaction, ids: readonly bigint[]): Promise<Map<bigint, PolicyFacts>> {
  const rows = await tx.rows(sql`
    SELECT i.id, i.created_at, i.ends_at, i.destroyed_at, i.announced_at, i.target_state, i.status, i.status_changed_at,
      i.claimed_at, i.gpu_price_nanos, i.stop_at, i.stop_at_cost_nanos, i.destroy_at, i.destroy_stopped_ms, ${metersSql}
    FROM instances i WHERE i.id = ANY(${ids.map(String)}::bigint[])`)
  return new Map(rows.map(row => [row[0] as bigint, toFacts(row)]))
}

function toFacts(row: unknown[]): PolicyFacts {
  const [, createdAt, endsAt, destroyedAt, announcedAt, targetState, status, statusChangedAt, claimedAt, ...rest] = row
  const [gpuPriceNanos, stopAt, stopAtCostNanos, destroyAt, destroyStoppedMs, meters] = rest
  const state = { createdAt, endsAt, destroyedAt, announcedAt, targetState, status, statusChangedAt, claimedAt }
  const policy = { stopAt, stopAtCostNanos, destroyAt, destroyStoppedMs }
  const read = ((meters ?? []) as MeterRow[]).map(([kind, rate, since, carried, charged, end]) => ({
    ...{ kind, carried },
    rateNanos: BigInt(rate),
    since: new Date(since),
    chargedNanos: BigInt(charged),
    end: end === null ? null : new Date(end),
  }))
  return { ...state, gpuPriceNanos, ...policy, meters: read } as PolicyFacts
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
  await tx.rows(sql`
    UPDATE instances SET policy_due_at = ${nextPolicyAction(facts, at)?.at ?? null}::timestamptz WHERE id = ${instanceId}`)
  await tx.rows(sql`
    UPDATE meters SET ends_at = until FROM (VALUES ('gpu'::charge_kind, ${gpu}::timestamptz), ('disk', ${disk}))
      AS of(charged, until) WHERE kind = charged AND instance_id = ${instanceId} AND account_id = ${accountId}
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
