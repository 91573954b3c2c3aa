// What must be true of everybody's money at any time, worked out from the rows alone and in another way than the program.

import { expect } from 'vitest'
import type { TestApp } from './app.ts'
import { brokenLaws } from './ledger-laws.ts'

const partsPerNano = 3_600_000n
const msOf = (value: unknown) => BigInt((value as Date).getTime())

type Row = Record<string, unknown>
const nanos = (value: unknown) => BigInt(value as string)

/** When nothing is due; what is told is named when a law is broken. */
export async function checkMoney(app: TestApp, story: string): Promise<void> {
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
    checkCompute(of(entries), of(meters), story)
    // Who has nothing lets nothing run. The clock may have been put back since something ended.
    if (of(ends).length === 0 && owes(app, account, of(meters))) expect(of(wanting), story).toEqual([])
  }
}

const carriedOf = (meter: Row) => BigInt(meter['carried'] as number)

/** What an account has at an instant: what it was given until then less what everything cost until then, in parts. */
function partsAt(entries: Row[], meters: Row[], at: bigint): bigint {
  let parts = 0n
  for (const { kind, posted_at, amount_nanos, period_start, period_end, rate_nanos } of entries) {
    if (kind === 'compute' || kind === 'disk') {
      const end = msOf(period_end) < at ? msOf(period_end) : at
      const ms = end - msOf(period_start)
      if (ms > 0n) parts -= nanos(rate_nanos) * ms
    } else if (msOf(posted_at) <= at) parts += nanos(amount_nanos) * partsPerNano
  }
  for (const { rate_nanos, since } of meters) {
    if (at > msOf(since)) parts -= nanos(rate_nanos) * (at - msOf(since))
  }
  return parts
}

/** No GPU is paid with what is not there: at the end of each charge for one there was something, or nothing was left. */
function checkCompute(entries: Row[], meters: Row[], story: string): void {
  for (const entry of entries.filter(({ kind }) => kind === 'compute')) {
    const left = partsAt(entries, meters, msOf(entry['period_end']))
    expect(left >= 0n, `${story}: entry ${entry['id']} was charged although there was nothing, but ${left} parts`).toBe(
      true,
    )
  }
}

function owes(app: TestApp, account: Row, meters: Row[]): boolean {
  const now = msOf(app.clock.now())
  const at = msOf(account['metered_at']) > now ? msOf(account['metered_at']) : now
  const running = meters.reduce(
    (all, meter) => all + nanos(meter['rate_nanos']) * (at - msOf(meter['since'])) + carriedOf(meter),
    0n,
  )
  return nanos(account['posted_nanos']) * partsPerNano < running
}
