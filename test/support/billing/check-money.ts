// Rules that all money must satisfy at any time. They are calculated from the rows alone, independently of the program.

import { expect } from 'vitest'
import type { TestApp } from '../app.ts'
import { brokenLaws } from './ledger-laws.ts'

const partsPerNano = 3_600_000n
const msOf = (value: unknown) => BigInt((value as Date).getTime())

type Row = Record<string, unknown>
const nanos = (value: unknown) => BigInt(value as string)

/** Maps the instant of each grant to the earliest time that the clock has shown since. */
export type EarliestInstants = ReadonlyMap<number, number>

/** Checks all money when no work is due. `story` is part of each failure message. */
export async function checkMoney(app: TestApp, story: string, earliest: EarliestInstants): Promise<void> {
  const [accounts, meters, entries, ends, wanting] = (await Promise.all(
    [
      'SELECT * FROM accounts ORDER BY id',
      'SELECT * FROM meters ORDER BY id',
      'SELECT * FROM ledger_entries ORDER BY id',
      'SELECT * FROM meter_ends',
      `SELECT DISTINCT account_id FROM instances WHERE target_state = 'running' AND destroyed_at IS NULL
        AND status NOT IN ('exited', 'offline', 'unknown')`,
    ].map(text => app.sql(text)),
  )) as [Row[], Row[], Row[], Row[], Row[]]
  expect(await brokenLaws(app.sql), story).toEqual([])
  for (const account of accounts) {
    const of = (rows: Row[]) => rows.filter(row => row['account_id'] === account['id'])
    const due = account['billing_due_at'] as Date | null
    expect(due === null || due > app.clock.now(), `${story}: account ${account['id']} is due`).toBe(true)
    checkGpuCharges(of(entries), of(meters), story, earliest)
    // An account without credit runs nothing. A pending end may be in the future if the clock stepped back.
    if (of(ends).length === 0 && isInDebt(app, account, of(meters))) expect(of(wanting), story).toEqual([])
  }
}

/** Carried parts count only while a meter runs. */
const carriedOf = (meter: Row) => (nanos(meter['rate_nanos']) > 0n ? BigInt(meter['carried'] as number) : 0n)

/**
 * The balance of an account at an instant, in parts: all credit until then less all costs until then. A meter that does
 * not run at that instant is charged in whole nano-dollars.
 */
function balancePartsAt(entries: Row[], meters: Row[], at: bigint, earliest: EarliestInstants): bigint {
  const given = entries.filter(
    ({ kind, posted_at, amount_nanos }) =>
      kind !== 'gpu' && kind !== 'disk' && isGrantedBy(posted_at as Date, nanos(amount_nanos), at, earliest),
  )
  const charges = Map.groupBy(
    entries.filter(({ kind }) => kind === 'gpu' || kind === 'disk'),
    entry => entry['meter_id'],
  )
  const costs = meters.map(meter => costPartsAt(charges.get(meter['id']) ?? [], meter, at))
  const sum = (values: bigint[]) => values.reduce((total, value) => total + value, 0n)
  return sum(given.map(({ amount_nanos }) => nanos(amount_nanos))) * partsPerNano - sum(costs)
}

/** The cost of a meter until an instant, in parts. */
function costPartsAt(charges: Row[], { rate_nanos, since }: Row, at: bigint): bigint {
  const running = { period_start: since, period_end: null, rate_nanos }
  const periods = [...charges, ...(nanos(rate_nanos) > 0n ? [running] : [])].filter(
    ({ period_start }) => msOf(period_start) < at,
  )
  const endOf = ({ period_end }: Row) => (period_end === null || msOf(period_end) > at ? at : msOf(period_end))
  const all = periods.reduce(
    (sum, one) => sum + nanos(one['rate_nanos']) * (endOf(one) - msOf(one['period_start'])),
    0n,
  )
  return periods.some(one => endOf(one) === at) ? all : all - (all % partsPerNano)
}

/** A deducted amount still counts at the instant of its deduction. The clock may step back behind a grant. */
function isGrantedBy(postedAt: Date, amount: bigint, at: bigint, earliest: EarliestInstants): boolean {
  if (amount < 0n) return msOf(postedAt) < at
  return BigInt(earliest.get(postedAt.getTime()) ?? postedAt.getTime()) <= at
}

/** No GPU charge exceeds the credit: the balance at the end of each charge is not negative. */
function checkGpuCharges(entries: Row[], meters: Row[], story: string, earliest: EarliestInstants): void {
  for (const entry of entries.filter(({ kind }) => kind === 'gpu')) {
    const remaining = balancePartsAt(entries, meters, msOf(entry['period_end']), earliest)
    expect(
      remaining >= 0n,
      `${story}: entry ${entry['id']} was charged without credit: ${remaining} parts remained`,
    ).toBe(true)
  }
}

function isInDebt(app: TestApp, account: Row, meters: Row[]): boolean {
  const now = msOf(app.clock.now())
  const at = msOf(account['metered_at']) > now ? msOf(account['metered_at']) : now
  const running = meters.reduce(
    (all, meter) => all + nanos(meter['rate_nanos']) * (at - msOf(meter['since'])) + carriedOf(meter),
    0n,
  )
  return nanos(account['posted_nanos']) * partsPerNano < running
}
