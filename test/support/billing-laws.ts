// What must be true of everybody's money at any time, worked out from the rows alone and in another way than the program.

import { expect } from 'vitest'
import type { TestApp } from './app.ts'

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
  for (const meter of meters) checkMeter(meter, entries, story)
  for (const account of accounts) {
    const of = (rows: Row[]) => rows.filter(row => row['account_id'] === account['id'])
    checkAccount(app, account, of(meters), of(entries), story)
    checkCompute(of(entries), of(meters), story)
    // Who has nothing lets nothing run. The clock may have been put back since something ended.
    if (of(ends).length === 0 && owes(app, account, of(meters))) expect(of(wanting), story).toEqual([])
  }
}

/** Each charge begins where the one before ended, or later, with what that one left over. */
function checkMeter(meter: Row, all: Row[], story: string): void {
  const entries = all.filter(entry => entry['meter_id'] === meter['id'])
  let [last, carried, charged] = [0n, 0n, 0n]
  for (const { kind, period_start, period_end, rate_nanos, amount_nanos, ...entry } of entries) {
    charged -= nanos(amount_nanos)
    if (kind === 'refund') continue
    expect(msOf(period_start) >= last, `${story}: periods overlap`).toBe(true)
    expect(BigInt(entry['carried'] as number), story).toBe(carried)
    const parts = nanos(rate_nanos) * (msOf(period_end) - msOf(period_start)) + carried
    expect(-nanos(amount_nanos), story).toBe(parts / partsPerNano)
    carried = parts % partsPerNano
    last = msOf(period_end)
  }
  expect([nanos(meter['charged_nanos']), BigInt(meter['carried'] as number)], story).toEqual([charged, carried])
  expect(msOf(meter['since']) >= last, story).toBe(true)
}

function checkAccount(app: TestApp, account: Row, meters: Row[], entries: Row[], story: string): void {
  let sum = 0n
  for (const { amount_nanos, balance_after_nanos } of entries) {
    sum += nanos(amount_nanos)
    expect(nanos(balance_after_nanos), story).toBe(sum)
  }
  expect(nanos(account['posted_nanos']), story).toBe(sum)
  for (const kind of ['compute', 'disk']) {
    const of = meters.filter(meter => meter['kind'] === kind && meter['rate_nanos'] !== '0')
    const rate = of.reduce((all, meter) => all + nanos(meter['rate_nanos']), 0n)
    const origin = of.reduce(
      (all, meter) => all + nanos(meter['rate_nanos']) * msOf(meter['since']) - carriedOf(meter),
      0n,
    )
    // What costs nothing may carry on what is less than a nano-dollar.
    const idle = meters.filter(meter => meter['kind'] === kind && meter['rate_nanos'] === '0')
    const left = idle.reduce((all, meter) => all + carriedOf(meter), 0n)
    expect([nanos(account[`${kind}_rate_nanos`]), nanos(account[`${kind}_origin`])], story).toEqual([
      rate,
      origin - left,
    ])
  }
  const due = account['billing_due_at'] as Date | null
  expect(due === null || due > app.clock.now(), `${story}: account ${account['id']} is due`).toBe(true)
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
