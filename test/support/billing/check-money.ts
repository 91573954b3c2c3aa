// What must be true of everybody's money at any time, worked out from the rows alone and in another way than the program.

import { expect } from 'vitest'
import type { TestApp } from '../app.ts'
import { brokenLaws } from './ledger-laws.ts'

const partsPerNano = 3_600_000n
const msOf = (value: unknown) => BigInt((value as Date).getTime())

type Row = Record<string, unknown>
const nanos = (value: unknown) => BigInt(value as string)

/** For an instant at which something was granted, the earliest that the clock has shown since. */
export type EarliestInstants = ReadonlyMap<number, number>

/** When nothing is due; what is told is named when a law is broken. */
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
    checkCompute(of(entries), of(meters), story, earliest)
    // Who has nothing lets nothing run. The clock may have been put back since something ended.
    if (of(ends).length === 0 && isInDebt(app, account, of(meters))) expect(of(wanting), story).toEqual([])
  }
}

/** What a meter carries counts while it runs. */
const carriedOf = (meter: Row) => (nanos(meter['rate_nanos']) > 0n ? BigInt(meter['carried'] as number) : 0n)

/**
 * What an account has at an instant: what it was given until then less what everything cost until then, in parts. Of a
 * meter that does not run then, whole nano-dollars are charged.
 */
function balancePartsAt(entries: Row[], meters: Row[], at: bigint, earliest: EarliestInstants): bigint {
  const given = entries.filter(
    ({ kind, posted_at, amount_nanos }) =>
      kind !== 'compute' && kind !== 'disk' && isGrantedBy(posted_at as Date, nanos(amount_nanos), at, earliest),
  )
  const charges = Map.groupBy(
    entries.filter(({ kind }) => kind === 'compute' || kind === 'disk'),
    entry => entry['meter_id'],
  )
  const costs = meters.map(meter => costPartsAt(charges.get(meter['id']) ?? [], meter, at))
  const sum = (values: bigint[]) => values.reduce((total, value) => total + value, 0n)
  return sum(given.map(({ amount_nanos }) => nanos(amount_nanos))) * partsPerNano - sum(costs)
}

/** What a meter has cost until an instant, in parts. */
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

/** What is taken away at an instant pays until then. Of what is given the clock may be put back behind that instant. */
function isGrantedBy(postedAt: Date, amount: bigint, at: bigint, earliest: EarliestInstants): boolean {
  if (amount < 0n) return msOf(postedAt) < at
  return BigInt(earliest.get(postedAt.getTime()) ?? postedAt.getTime()) <= at
}

/** No GPU is paid with what is not there: at the end of each charge for one there was something, or nothing was left. */
function checkCompute(entries: Row[], meters: Row[], story: string, earliest: EarliestInstants): void {
  for (const entry of entries.filter(({ kind }) => kind === 'compute')) {
    const left = balancePartsAt(entries, meters, msOf(entry['period_end']), earliest)
    expect(left >= 0n, `${story}: entry ${entry['id']} was charged although there was nothing, but ${left} parts`).toBe(
      true,
    )
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
