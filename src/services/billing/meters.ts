// What goes on costing an account something, and what is charged for it. Whoever changes a meter has taken its account.

import { Prisma } from '../../database/generated/client.ts'
import { columnsOf, insertSql } from '../../database/rows.ts'
import type { Transaction } from '../../database/transaction.ts'
import { calculateMeterCharge, type Meter } from '../../domain/billing/balance.ts'
import type { AccountBalance } from './balance.ts'
import { computeMetersSql, meterEndSql } from './sql.ts'

const { sql } = Prisma
const entryColumns = columnsOf(Prisma.LedgerEntryScalarFieldEnum)

/** Meters for what is new: disks cost something from now on, and GPUs as soon as they run. */
export async function openMeters(
  tx: Transaction,
  { accountId, at }: AccountBalance,
  { apiKeyId, instanceIds = [], volumeIds = [] }: { apiKeyId: number; instanceIds?: bigint[]; volumeIds?: bigint[] },
): Promise<void> {
  await tx.rows(sql`
    INSERT INTO meters (account_id, api_key_id, instance_id, volume_id, kind, rate_nanos, since, ends_at)
    SELECT ${accountId}, ${apiKeyId}, of.instance_id, of.volume_id, of.kind, of.rate_nanos, ${at}, of.ends_at FROM (
      SELECT id AS instance_id, NULL::bigint AS volume_id, 'compute'::charge_kind AS kind, 0 AS rate_nanos, ends_at
      FROM instances WHERE id = ANY(${instanceIds.map(String)}::bigint[])
      UNION ALL SELECT id, NULL, 'disk', disk_nanos, ends_at FROM instances
      WHERE id = ANY(${instanceIds.map(String)}::bigint[])
      UNION ALL SELECT NULL, id, 'disk', disk_nanos, NULL FROM volumes
      WHERE id = ANY(${volumeIds.map(String)}::bigint[])
    ) of`)
}

type ChargedMeter = Meter & { id: bigint; kind: 'compute' | 'disk' }

/**
 * Charges meters up to an instant. Those that have ended cost nothing from then on; an end of what had been stopped
 * before it was told is forgotten. What goes on is returned.
 */
export async function chargeMeters(
  tx: Transaction,
  { accountId, at }: AccountBalance,
  which: Prisma.Sql,
  until: Date = at,
): Promise<ChargedMeter[]> {
  const rows = await tx.rows(sql`
    SELECT m.id, m.kind, m.rate_nanos, m.since, m.carried, ${meterEndSql} FROM meters m
    WHERE m.account_id = ${accountId} AND ${which}
    AND (m.rate_nanos > 0 OR EXISTS (SELECT FROM meter_ends e WHERE e.meter_id = m.id)) ORDER BY m.id`)
  const meters = rows.map(
    ([id, kind, rateNanos, since, carried, end]) => ({ id, kind, rateNanos, since, carried, end }) as ChargedMeter,
  )
  const entries = meters.flatMap(meter => {
    const { ms, amountNanos, ...period } = calculateMeterCharge(meter, until)
    if (ms === 0 || meter.rateNanos === 0n) return []
    const { id: meterId, kind } = meter
    return [{ accountId, meterId, kind, ...period, amountNanos: -amountNanos, postedAt: at }]
  })
  if (entries.length > 0) await tx.rows(insertSql('ledger_entries', entryColumns, entries))
  const ended = meters.filter(({ end }) => end !== null && end <= until)
  await setRates(tx, ended, 0n)
  return meters.filter(({ rateNanos, end }) => rateNanos > 0n && (end === null || end > until))
}

/** Charges meters up to an instant, after which they cost nothing. */
export async function stopMeters(
  tx: Transaction,
  account: AccountBalance,
  which: Prisma.Sql,
  until: Date = account.at,
): Promise<void> {
  const meters = await chargeMeters(tx, account, which, until)
  await setRates(tx, meters, 0n)
}

/** Charges what an instance's GPUs cost, and goes on at another rate, if they cost anything now. */
export async function changeRate(
  tx: Transaction,
  account: AccountBalance,
  instanceId: bigint,
  rateNanos: bigint,
): Promise<void> {
  const meters = await chargeMeters(tx, account, computeMetersSql([instanceId]))
  await setRates(tx, meters, rateNanos)
}

/** From now on an instance's GPUs cost something, unless it is about to be stopped since they ended. */
export async function startCompute(tx: Transaction, account: AccountBalance, instanceId: bigint): Promise<void> {
  const running = await chargeMeters(tx, account, computeMetersSql([instanceId]))
  if (running.length > 0) return
  // What ended before is charged, also where two said that it did.
  await tx.rows(
    sql`DELETE FROM meter_ends e USING meters m WHERE m.id = e.meter_id AND ${computeMetersSql([instanceId])}`,
  )
  await tx.rows(sql`
    UPDATE meters m SET rate_nanos = i.compute_nanos, since = ${account.at}
    FROM instances i WHERE i.id = m.instance_id AND ${computeMetersSql([instanceId])} AND m.stop_reason IS NULL`)
}

async function setRates(tx: Transaction, meters: Pick<ChargedMeter, 'id'>[], rateNanos: bigint): Promise<void> {
  if (meters.length === 0) return
  const ids = meters.map(({ id }) => String(id))
  // Whoever began later may have ended one at a later instant: at another rate it ends then, too.
  if (rateNanos === 0n) await tx.rows(sql`DELETE FROM meter_ends WHERE meter_id = ANY(${ids}::bigint[])`)
  await tx.rows(sql`UPDATE meters SET rate_nanos = ${rateNanos} WHERE id = ANY(${ids}::bigint[])`)
}

/** The GPUs of instances end costing something. Their accounts are not waited for: they are charged afterwards. */
export async function endCompute(tx: Transaction, instanceIds: readonly bigint[], at: Date): Promise<void> {
  if (instanceIds.length === 0) return
  await tx.rows(sql`
    INSERT INTO meter_ends (meter_id, account_id, at) SELECT m.id, m.account_id, ${at}::timestamptz FROM meters m
    WHERE m.rate_nanos > 0 AND ${computeMetersSql(instanceIds)}`)
}
