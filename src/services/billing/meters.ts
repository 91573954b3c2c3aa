// Meters record running costs and post the charges for them. Triggers of the database do the rest: a ledger entry moves
// its meter's `since` and `carried` on, and a change of a meter updates the account's totals (docs/design/money.md). A
// transaction that changes a meter has locked its account.

import { Prisma } from '../../database/generated/client.ts'
import { int4, int8, nullable } from '../../database/row-types.ts'
import { insertSql, modelColumnsOf } from '../../database/rows.ts'
import { writeTogether } from '../../database/together.ts'
import type { Transaction } from '../../database/transaction.ts'
import { type ChargeKind, calculateMeterCharge, type Meter } from '../../domain/billing/balance.ts'
import type { AccountBalance } from './balance.ts'
import { gpuMetersSql, meterEndSql, meterRow, ownMetersSql } from './sql.ts'

const { sql } = Prisma
const entryColumns = modelColumnsOf(Prisma.LedgerEntryScalarFieldEnum)

type NewMeters = { accountId: number; apiKeyId: number; since: Date }

type NewInstance = { id: bigint; accountId: number; apiKeyId: number; diskNanos: bigint; endsAt: Date }

/**
 * Opens the meters of new instances, for `writeTogether` after `lockAccountWrites`. Their disks are charged from now on, their
 * GPUs as soon as they run. A later instant that the account was charged at before this transaction had its lock counts as now.
 */
export function instanceMeterWrites(instances: readonly NewInstance[], since: Date) {
  const of = <Value>(value: (instance: NewInstance) => Value) => instances.map(value)
  return {
    openedMeters: sql`
      INSERT INTO meters (account_id, api_key_id, instance_id, kind, rate_nanos, since, began_at, ends_at)
      SELECT l.id, i.api_key_id, i.id, opened.kind, opened.rate, begun.at, begun.at, i.ends_at
      FROM locked_accounts l JOIN unnest(
        ${of(({ id }) => String(id))}::bigint[], ${of(({ accountId }) => accountId)}::int[], ${of(({ apiKeyId }) => apiKeyId)}::int[],
        ${of(({ diskNanos }) => String(diskNanos))}::bigint[], ${of(({ endsAt }) => endsAt)}::timestamptz[]
      ) AS i(id, account_id, api_key_id, disk_nanos, ends_at) ON i.account_id = l.id
      CROSS JOIN LATERAL (SELECT greatest(${since}::timestamptz, l.metered_at) AS at) begun
      CROSS JOIN LATERAL (VALUES ('gpu'::charge_kind, 0::bigint), ('disk', i.disk_nanos)) AS opened (kind, rate) RETURNING 1`,
  }
}

/** Opens the meters of new volumes. They are charged from now on. */
export async function openVolumeMeters(
  tx: Transaction,
  { accountId, apiKeyId, since }: NewMeters,
  volumeIds: readonly bigint[],
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO meters (account_id, api_key_id, volume_id, kind, rate_nanos, since, began_at)
    SELECT a.id, ${apiKeyId}, v.id, 'disk', v.disk_nanos, begun.at, begun.at
    FROM volumes v JOIN accounts a ON a.id = v.account_id
    CROSS JOIN LATERAL (SELECT greatest(${since}::timestamptz, a.metered_at) AS at) begun
    WHERE v.id = ANY(${volumeIds.map(String)}::bigint[]) AND a.id = ${accountId}`)
}

type ChargedMeter = Meter & { id: bigint; accountId: number; instanceId: bigint | null; kind: ChargeKind }
/** Locked accounts. Each is charged at its own instant, `at`. */
type LockedAccounts = AccountBalance | readonly AccountBalance[]
/** One instant for all meters, or each meter's own. */
type Until = Date | ((meter: ChargedMeter) => Date)

/**
 * Charges the meters `m` of accounts that match `which` up to an instant, by default up to now. Returns those that keep
 * running. Sets the rate of ended meters to 0. Deletes an end that was recorded after its meter had stopped.
 */
export async function chargeMeters(
  tx: Transaction,
  accounts: LockedAccounts,
  which: Prisma.Sql,
  until?: Until,
): Promise<ChargedMeter[]> {
  const { running, ended } = await postCharges(tx, accounts, which, until)
  await setRates(tx, ended, 0n)
  return running
}

/** Charges meters up to an instant, by default up to now, and sets their rates to 0. */
export async function stopMeters(
  tx: Transaction,
  accounts: LockedAccounts,
  which: Prisma.Sql,
  until?: Until,
): Promise<void> {
  const { running, ended } = await postCharges(tx, accounts, which, until)
  await setRates(tx, [...running, ...ended], 0n)
}

async function postCharges(
  tx: Transaction,
  accounts: LockedAccounts,
  which: Prisma.Sql,
  until?: Until,
): Promise<{ running: ChargedMeter[]; ended: ChargedMeter[] }> {
  const now = new Map([accounts].flat().map(({ accountId, at }) => [accountId, at] as const))
  const statement = sql`
    SELECT m.id, m.account_id, m.instance_id, m.kind, m.rate_nanos, m.since, m.carried, ${meterEndSql} AS end FROM meters m
    WHERE ${ownMetersSql(...now.keys())} AND ${which}
    AND (m.rate_nanos > 0 OR EXISTS (SELECT FROM meter_ends e WHERE e.meter_id = m.id)) ORDER BY m.id`
  const meters = await tx.query(statement, { id: int8, accountId: int4, instanceId: nullable(int8), ...meterRow })
  const charges = meters.map(meter => {
    // Safe: the statement selects only meters of these accounts.
    const postedAt = now.get(meter.accountId) as Date
    const meterUntil = typeof until === 'function' ? until(meter) : (until ?? postedAt)
    return { meter, postedAt, charge: calculateMeterCharge(meter, meterUntil), hasEnded: hasEndedBy(meter, meterUntil) }
  })
  const entries = charges.flatMap(({ meter, postedAt, charge: { ms, amountNanos, ...period } }) => {
    if (ms === 0 || meter.rateNanos === 0n) return []
    const { id: meterId, accountId, kind } = meter
    return [{ accountId, meterId, kind, ...period, amountNanos: -amountNanos, postedAt }]
  })
  if (entries.length > 0) await tx.execute(insertSql('ledger_entries', entryColumns, entries))
  return {
    running: charges.flatMap(({ meter, hasEnded }) => (meter.rateNanos > 0n && !hasEnded ? [meter] : [])),
    ended: charges.flatMap(({ meter, hasEnded }) => (hasEnded ? [meter] : [])),
  }
}

const hasEndedBy = ({ end }: ChargedMeter, until: Date) => end !== null && end <= until

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

/** Starts to charge the GPUs of instances, unless they are charged already or marked to stop. */
export async function startGpuMeters(
  tx: Transaction,
  accounts: LockedAccounts,
  instanceIds: readonly bigint[],
): Promise<void> {
  const running = new Set((await chargeMeters(tx, accounts, gpuMetersSql(instanceIds))).map(meter => meter.instanceId))
  const idle = gpuMetersSql(instanceIds.filter(id => !running.has(id)))
  if (running.size === instanceIds.length) return
  // `chargeMeters` has charged the time until now. An end that is still recorded belongs to that time, and must not end
  // the new charges.
  await tx.execute(sql`DELETE FROM meter_ends WHERE meter_id = ANY(ARRAY(SELECT m.id FROM meters m WHERE ${idle}))`)
  const locked = [accounts].flat()
  await tx.execute(sql`
    UPDATE meters m SET rate_nanos = i.gpu_price_nanos, since = account.at
    FROM instances i, unnest(${locked.map(({ accountId }) => accountId)}::int[], ${locked.map(({ at }) => at)}::timestamptz[])
      AS account(id, at)
    WHERE i.id = m.instance_id AND ${idle} AND m.account_id + 0 = account.id AND m.stop_reason IS NULL`)
}

async function setRates(tx: Transaction, meters: Pick<ChargedMeter, 'id'>[], rateNanos: bigint): Promise<void> {
  if (meters.length === 0) return
  const ids = meters.map(({ id }) => String(id))
  // The ends of meters that keep running stay: another transaction may have recorded a later end, which applies to the
  // new rate, too.
  const isStop = rateNanos === 0n
  await writeTogether(tx, {
    ...(isStop && { ends: sql`DELETE FROM meter_ends WHERE meter_id = ANY(${ids}::bigint[]) RETURNING 1` }),
    rates: sql`UPDATE meters SET rate_nanos = ${rateNanos} WHERE id = ANY(${ids}::bigint[]) RETURNING 1`,
  })
}

/**
 * Records when the GPU charges of instances end, for `writeTogether`. Does not wait for the locks of their accounts: a later
 * transaction posts the charges.
 */
export function gpuMeterEndWrites(instanceIds: readonly bigint[], at: Date): Record<string, Prisma.Sql> {
  if (instanceIds.length === 0) return {}
  return {
    meterEnds: sql`
      INSERT INTO meter_ends (meter_id, account_id, at) SELECT m.id, m.account_id, ${at}::timestamptz FROM meters m
      WHERE m.rate_nanos > 0 AND ${gpuMetersSql(instanceIds)} RETURNING 1`,
  }
}
