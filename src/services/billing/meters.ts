// Meters record running costs and post the charges for them. Triggers of the database do the rest: a ledger entry moves
// its meter's `since` and `carried` on, and a change of a meter updates the account's totals (docs/design/money.md). A
// transaction that changes a meter has locked its account.

import { Prisma } from '../../database/generated/client.ts'
import { int8 } from '../../database/row-types.ts'
import { insertSql, modelColumnsOf } from '../../database/rows.ts'
import type { Transaction } from '../../database/transaction.ts'
import { type ChargeKind, calculateMeterCharge, type Meter } from '../../domain/billing/balance.ts'
import type { AccountBalance } from './balance.ts'
import { gpuMetersSql, meterEndSql, meterRow, ownMetersSql } from './sql.ts'

const { sql } = Prisma
const entryColumns = modelColumnsOf(Prisma.LedgerEntryScalarFieldEnum)

/** Opens meters for new instances and volumes. Disks are charged from now on, GPUs as soon as they run. */
export async function openMeters(
  tx: Transaction,
  { accountId, at }: AccountBalance,
  { apiKeyId, instanceIds = [], volumeIds = [] }: { apiKeyId: number; instanceIds?: bigint[]; volumeIds?: bigint[] },
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO meters (account_id, api_key_id, instance_id, volume_id, kind, rate_nanos, since, ends_at)
    SELECT ${accountId}, ${apiKeyId}, of.instance_id, of.volume_id, of.kind, of.rate_nanos, ${at}, of.ends_at FROM (
      SELECT id AS instance_id, NULL::bigint AS volume_id, 'gpu'::charge_kind AS kind, 0 AS rate_nanos, ends_at
      FROM instances WHERE id = ANY(${instanceIds.map(String)}::bigint[])
      UNION ALL SELECT id, NULL, 'disk', disk_nanos, ends_at FROM instances
      WHERE id = ANY(${instanceIds.map(String)}::bigint[])
      UNION ALL SELECT NULL, id, 'disk', disk_nanos, NULL FROM volumes
      WHERE id = ANY(${volumeIds.map(String)}::bigint[])
    ) of`)
}

type ChargedMeter = Meter & { id: bigint; kind: ChargeKind }

/**
 * Charges the meters `m` that match `which` up to an instant, and returns those that keep running. Sets the rate of ended
 * meters to 0. Deletes an end that was recorded after its meter had stopped.
 */
export async function chargeMeters(
  tx: Transaction,
  { accountId, at }: AccountBalance,
  which: Prisma.Sql,
  until: Date = at,
): Promise<ChargedMeter[]> {
  const statement = sql`
    SELECT m.id, m.kind, m.rate_nanos, m.since, m.carried, ${meterEndSql} AS end FROM meters m
    WHERE ${ownMetersSql(accountId)} AND ${which}
    AND (m.rate_nanos > 0 OR EXISTS (SELECT FROM meter_ends e WHERE e.meter_id = m.id)) ORDER BY m.id`
  const meters = await tx.query(statement, { id: int8, ...meterRow })
  const entries = meters.flatMap(meter => {
    const { ms, amountNanos, ...period } = calculateMeterCharge(meter, until)
    if (ms === 0 || meter.rateNanos === 0n) return []
    const { id: meterId, kind } = meter
    return [{ accountId, meterId, kind, ...period, amountNanos: -amountNanos, postedAt: at }]
  })
  if (entries.length > 0) await tx.execute(insertSql('ledger_entries', entryColumns, entries))
  const ended = meters.filter(({ end }) => end !== null && end <= until)
  await setRates(tx, ended, 0n)
  return meters.filter(({ rateNanos, end }) => rateNanos > 0n && (end === null || end > until))
}

/** Charges meters up to an instant and sets their rates to 0. */
export async function stopMeters(
  tx: Transaction,
  account: AccountBalance,
  which: Prisma.Sql,
  until: Date = account.at,
): Promise<void> {
  const meters = await chargeMeters(tx, account, which, until)
  await setRates(tx, meters, 0n)
}

/** Charges an instance's GPUs up to now. If the GPUs are still charged now, their charges continue at the new rate. */
export async function changeRate(
  tx: Transaction,
  account: AccountBalance,
  instanceId: bigint,
  rateNanos: bigint,
): Promise<void> {
  const meters = await chargeMeters(tx, account, gpuMetersSql([instanceId]))
  await setRates(tx, meters, rateNanos)
}

/** Starts to charge an instance's GPUs, unless the instance is marked to stop. */
export async function startGpuMeter(tx: Transaction, account: AccountBalance, instanceId: bigint): Promise<void> {
  const running = await chargeMeters(tx, account, gpuMetersSql([instanceId]))
  if (running.length > 0) return
  // `chargeMeters` has charged the time until now. An end that is still recorded belongs to that time, and must not end
  // the new charges.
  await tx.execute(
    sql`DELETE FROM meter_ends WHERE meter_id = ANY(ARRAY(SELECT m.id FROM meters m WHERE ${gpuMetersSql([instanceId])}))`,
  )
  await tx.execute(sql`
    UPDATE meters m SET rate_nanos = i.gpu_price_nanos, since = ${account.at}
    FROM instances i WHERE i.id = m.instance_id AND ${gpuMetersSql([instanceId])} AND m.stop_reason IS NULL`)
}

async function setRates(tx: Transaction, meters: Pick<ChargedMeter, 'id'>[], rateNanos: bigint): Promise<void> {
  if (meters.length === 0) return
  const ids = meters.map(({ id }) => String(id))
  // The ends of meters that keep running stay: another transaction may have recorded a later end, which applies to the
  // new rate, too.
  if (rateNanos === 0n) await tx.execute(sql`DELETE FROM meter_ends WHERE meter_id = ANY(${ids}::bigint[])`)
  await tx.execute(sql`UPDATE meters SET rate_nanos = ${rateNanos} WHERE id = ANY(${ids}::bigint[])`)
}

/**
 * Records when the GPU charges of instances end. Does not wait for the locks of their accounts: a later transaction
 * posts the charges.
 */
export async function endGpuMeter(tx: Transaction, instanceIds: readonly bigint[], at: Date): Promise<void> {
  if (instanceIds.length === 0) return
  await tx.execute(sql`
    INSERT INTO meter_ends (meter_id, account_id, at) SELECT m.id, m.account_id, ${at}::timestamptz FROM meters m
    WHERE m.rate_nanos > 0 AND ${gpuMetersSql(instanceIds)}`)
}
