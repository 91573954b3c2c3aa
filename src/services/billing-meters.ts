// What goes on costing an account something, and what is charged for it. Whoever changes a meter has locked its account,
// after all machines and instances that the transaction takes; it takes no other account.

import { Prisma } from '../database/generated/client.ts'
import { columnsOf, insertAll } from '../database/rows.ts'
import type { Transaction } from '../database/transaction.ts'
import { type Balance, chargedBeyond, chargeUntil, type Meter, standingOf } from '../domain/billing.ts'
import { isStoppedByLimit, noteLimit } from './billing-limits-look.ts'

const { sql } = Prisma
const entryColumns = columnsOf(Prisma.LedgerEntryScalarFieldEnum)

export type AccountBalance = Balance & {
  accountId: number
  /** When its credit ended, until everything that ran then was stopped for it. */
  creditEndedAt: Date | null
  /** Whether there are limits of what it spends. */
  isLimited: boolean
}

const balanceColumns = sql`metered_at, posted_nanos, compute_rate_nanos, compute_origin, disk_rate_nanos, disk_origin, credit_ended_at`

/** An account's money at an instant, as it was last committed. */
export async function readBalance(
  database: Pick<Transaction, 'rows'>,
  accountId: number,
  at: Date,
): Promise<AccountBalance> {
  const [row] = await database.rows(sql`
    SELECT ${balanceColumns}, ${endsUntil(at)}, EXISTS (SELECT FROM spend_limits l WHERE l.account_id = a.id) FROM accounts a WHERE a.id = ${accountId}`)
  return toBalance(row as unknown[], accountId, at)
}

const endsUntil = (at: Date) => sql`(
  SELECT json_agg(json_build_array(m.rate_nanos::text, m.since, e.at)) FROM (
    SELECT meter_id, min(at) AS at FROM (
      SELECT meter_id, at FROM meter_ends WHERE account_id = a.id
      UNION ALL SELECT id, ends_at FROM meters WHERE account_id = a.id AND rate_nanos > 0 AND kind = 'compute'
      AND ends_at <= greatest(${at}::timestamptz, a.metered_at)
    ) all_ends GROUP BY meter_id
  ) e JOIN meters m ON m.id = e.meter_id WHERE m.rate_nanos > 0)`

function toBalance(row: unknown[], accountId: number, at: Date): AccountBalance {
  const [
    meteredAt,
    postedNanos,
    computeRateNanos,
    computeOrigin,
    diskRateNanos,
    diskOrigin,
    creditEndedAt,
    ends,
    isLimited,
  ] = row as [Date, bigint, bigint, string, bigint, string, Date | null, [string, string, string][] | null, boolean]
  return {
    accountId,
    at: at < meteredAt ? meteredAt : at,
    ...{ meteredAt, postedNanos, computeRateNanos, diskRateNanos, creditEndedAt, isLimited },
    computeOrigin: BigInt(computeOrigin),
    diskOrigin: BigInt(diskOrigin),
    ends: (ends ?? []).map(([rate, since, end]) => ({
      rateNanos: BigInt(rate),
      since: new Date(since),
      at: new Date(end),
    })),
  }
}

/**
 * Takes an account for the rest of the transaction. If its credit has ended meanwhile, or a limit that stops them was
 * reached, its GPUs are charged up to then, whatever is done to it now. It is due to be looked at, since something will have changed.
 */
export async function lockBalance(tx: Transaction, accountId: number, at: Date): Promise<AccountBalance> {
  await tx.rows(sql`UPDATE accounts SET billing_due_at = least(billing_due_at, ${at}) WHERE id = ${accountId}`)
  tx.announce()
  // Asked now, since what ended was written by others before it was taken.
  let balance = await readBalance(tx, accountId, at)
  while (balance.isLimited && (await noteLimit(tx, balance))) balance = await readBalance(tx, accountId, at)
  const { endsAt, isOver } = standingOf(balance)
  if (!isOver || balance.computeRateNanos === 0n) return balance
  const capped = await tx.rows(sql`
    INSERT INTO meter_ends (meter_id, account_id, at) SELECT id, account_id, ${endsAt}::timestamptz FROM meters m
    WHERE account_id = ${accountId} AND kind = 'compute' AND rate_nanos > 0
    AND NOT EXISTS (SELECT FROM meter_ends e WHERE e.meter_id = m.id AND e.at <= ${endsAt}) RETURNING id`)
  // All have ended already, and disks alone have used up what was left.
  if (capped.length === 0) return balance
  await tx.rows(sql`UPDATE accounts SET credit_ended_at = greatest(credit_ended_at, ${endsAt}) WHERE id = ${accountId}`)
  return await readBalance(tx, accountId, at)
}

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

type Charged = Meter & { id: bigint; kind: 'compute' | 'disk' }

/**
 * Charges meters up to an instant. Those that have ended cost nothing from then on; an end of what had been stopped
 * before it was told is forgotten. What goes on is returned.
 */
export async function chargeMeters(
  tx: Transaction,
  { accountId, at }: AccountBalance,
  which: Prisma.Sql,
  until: Date = at,
): Promise<Charged[]> {
  const rows = await tx.rows(sql`
    SELECT m.id, m.kind, m.rate_nanos, m.since, m.carried,
      least(m.ends_at, (SELECT min(e.at) FROM meter_ends e WHERE e.meter_id = m.id))
    FROM meters m WHERE m.account_id = ${accountId} AND ${which}
    AND (m.rate_nanos > 0 OR EXISTS (SELECT FROM meter_ends e WHERE e.meter_id = m.id)) ORDER BY m.id`)
  const meters = rows.map(
    ([id, kind, rateNanos, since, carried, end]) => ({ id, kind, rateNanos, since, carried, end }) as Charged,
  )
  const entries = meters.flatMap(meter => {
    const { ms, amountNanos, ...period } = chargeUntil(meter, until)
    if (ms === 0 || meter.rateNanos === 0n) return []
    const { id: meterId, kind } = meter
    return [{ accountId, meterId, kind, ...period, amountNanos: -amountNanos, postedAt: at }]
  })
  if (entries.length > 0) await tx.rows(insertAll('ledger_entries', entryColumns, entries))
  const ended = meters.filter(({ end }) => end !== null && end <= until)
  await setRates(
    tx,
    ended.map(({ id }) => id),
    0n,
  )
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
  await setRates(
    tx,
    meters.map(({ id }) => id),
    0n,
  )
}

/** Charges what an instance's GPUs cost, and goes on at another rate, if they cost anything now. */
export async function changeRate(
  tx: Transaction,
  account: AccountBalance,
  instanceId: bigint,
  rateNanos: bigint,
): Promise<void> {
  const meters = await chargeMeters(tx, account, computeOf([instanceId]))
  await setRates(
    tx,
    meters.map(({ id }) => id),
    rateNanos,
  )
}

/** From now on an instance's GPUs cost something, unless credit ended or a limit was reached and it is about to be stopped. */
export async function startCompute(tx: Transaction, account: AccountBalance, instanceId: bigint): Promise<void> {
  if (standingOf(account).isOver) return
  const running = await chargeMeters(tx, account, computeOf([instanceId]))
  if (running.length > 0) return
  // What ended before is charged, also where two said that it did.
  await tx.rows(sql`DELETE FROM meter_ends e USING meters m WHERE m.id = e.meter_id AND ${computeOf([instanceId])}`)
  await tx.rows(sql`
    UPDATE meters m SET rate_nanos = i.compute_nanos, since = greatest(m.since, ${account.at})
    FROM instances i WHERE i.id = m.instance_id AND ${computeOf([instanceId])} AND NOT ${isStoppedByLimit(account.at)}
    AND (${account.creditEndedAt}::timestamptz IS NULL OR i.claimed_at > ${account.creditEndedAt})`)
}

async function setRates(tx: Transaction, ids: bigint[], rateNanos: bigint): Promise<void> {
  if (ids.length === 0) return
  // By another gateway's clock one may end a little later than now: at another rate it ends then, too.
  if (rateNanos === 0n) await tx.rows(sql`DELETE FROM meter_ends WHERE meter_id = ANY(${ids.map(String)}::bigint[])`)
  await tx.rows(sql`UPDATE meters SET rate_nanos = ${rateNanos} WHERE id = ANY(${ids.map(String)}::bigint[])`)
}

/** The GPUs of instances end costing something. Their accounts are not waited for: they are charged afterwards. */
export async function endCompute(tx: Transaction, instanceIds: readonly bigint[], at: Date): Promise<void> {
  if (instanceIds.length === 0) return
  await tx.rows(sql`
    INSERT INTO meter_ends (meter_id, account_id, at) SELECT m.id, m.account_id, ${at}::timestamptz FROM meters m
    WHERE m.rate_nanos > 0 AND ${computeOf(instanceIds)}`)
}

/** Gives back what was charged beyond an instant for the meters of an instance, which ended then. */
export async function refundBeyond(
  tx: Transaction,
  { accountId, at: postedAt }: AccountBalance,
  instanceId: bigint,
  instant: Date,
): Promise<void> {
  const rows = await tx.rows(sql`
    SELECT e.meter_id, e.period_start, e.period_end, e.rate_nanos, e.carried, -e.amount_nanos
    FROM ledger_entries e JOIN meters m ON m.id = e.meter_id
    WHERE m.instance_id = ${instanceId} AND e.period_end > ${instant} AND e.kind IN ('compute', 'disk') ORDER BY e.id`)
  const refunds = new Map<bigint, { amountNanos: bigint; periodEnd: Date }>()
  for (const [meterId, periodStart, periodEnd, rateNanos, carried, amountNanos] of rows as [
    ...[bigint, Date, Date, bigint, number, bigint],
  ][]) {
    const beyond = chargedBeyond({ periodStart, rateNanos, carried, amountNanos }, instant)
    refunds.set(meterId, { amountNanos: (refunds.get(meterId)?.amountNanos ?? 0n) + beyond, periodEnd })
  }
  const entries = [...refunds]
    .filter(([, { amountNanos }]) => amountNanos > 0n)
    .map(([meterId, refund]) => {
      const about = { accountId, meterId, kind: 'refund', periodStart: instant, postedAt }
      return { ...about, ...refund, reason: 'Its machine was not seen any more.' }
    })
  if (entries.length > 0) await tx.rows(insertAll('ledger_entries', entryColumns, entries))
}

export function computeOf(instanceIds: readonly bigint[]): Prisma.Sql {
  return sql`m.kind = 'compute' AND ${ofInstances(instanceIds)}`
}

export function ofInstances(instanceIds: readonly bigint[]): Prisma.Sql {
  return sql`m.instance_id = ANY(${instanceIds.map(String)}::bigint[])`
}
