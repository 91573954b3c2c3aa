// REST and GraphQL report the same grants and charges, to the nano-dollar.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

let app: TestApp
let rentals: Rentals
let key: string
/** Start of the first day of the account's history, in milliseconds. */
let begin: number
let offline: number
let stopped: number

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** Gives the account a history of several days with charges, grants, refunds and corrections. */
beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  begin = app.clock.now().getTime() - (app.clock.now().getTime() % day)
  key = await app.newKey(null, someCredit)
  const { email } = (await app.rest(key, 'GET', '/users/current/')).body
  const destroyed = await rentals.rentToStatus(key, 'running')
  offline = await rentals.rentToStatus(key, 'running')
  const { machine_id } = await rentals.read(key, destroyed)
  await volumesOf(app).make(key, machine_id, 33)
  await rentals.rent(await app.newKey(null, someCredit))
  app.clock.advance(7 * minute + 123)
  await app.rest(key, 'DELETE', `/instances/${destroyed}/`)
  await advanceClock(day)
  await app.operations.accounts.grantCredit(email, { amountNanos: 1_234_567_891n, reason: 'a voucher' })
  stopped = await rentals.rentToStatus(key, 'stopped')
  await rentals.rentToStatus(key, 'running')
  await app.operations.machines.unplug((await rentals.read(key, offline)).machine_id)
  app.clock.advance(2 * minute)
  // The adjustment charges everything up to now. Part of it is refunded when the gateway declares the machine offline.
  await app.operations.accounts.adjustCredit(email, { amountNanos: -111_111_111n, reason: 'a mistake' })
  for (let turn = 1; turn <= 8; turn += 1) {
    app.clock.advance(minute)
    await app.runUntilIdle()
  }
  expect((await rentals.read(key, offline)).actual_status).toBe('offline')
  await advanceClock(day)
  app.clock.advance(5 * hour + 7)
})

afterAll(() => app.close())

/** Advances hour by hour, so that open meters are charged once a day. */
async function advanceClock(ms: number) {
  for (let hours = 0; hours < ms / hour; hours += 1) {
    app.clock.advance(hour)
    await app.runUntilIdle()
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the shape depends on the test
async function getRest(path: string, query: Record<string, unknown>): Promise<any> {
  const written = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(JSON.stringify(value))}`)
  const { status, body } = await app.rest(key, 'GET', `${path}?${written.join('&')}`)
  expect(status).toBe(200)
  return body
}

// biome-ignore lint/suspicious/noExplicitAny: the shape depends on the test
async function queryViewer(fields: string): Promise<any> {
  const { data, errors } = await app.graphql(key, `{ viewer { account { ${fields} } } }`)
  expect(errors).toBeUndefined()
  return data.viewer.account
}

type Group = { keys: { value: string | null }[]; cost: string }
type Item = { type: string; amount: number }
type Charge = { type: string; source: string; amount: number; items: Item[] }

/** Converts dollars, a decimal string or a number with nine places, to nano-dollars. */
const toNanos = (dollars: string | number) => BigInt(Math.round(Number(dollars) * 1e9))
const sumNanos = (amounts: (string | number)[]) => amounts.reduce((total, amount) => total + toNanos(amount), 0n)

describe('REST charges', () => {
  const spans: [what: string, first: number, last: number][] = [
    ['all days', 0, 3],
    ['the first day', 0, 0],
    ['a day with refunds', 1, 1],
    ['today', 2, 2],
    ['days without charges', -3, -1],
  ]

  it.each(spans)('equal the GraphQL usage of %s', async (_what, first, last) => {
    const [from, to] = [begin + first * day, begin + (last + 1) * day]
    const select_filters = { day: { gte: from / 1000, lte: to / 1000 - 1 } }
    const { results, total } = await getRest('/charges/', { select_filters, limit: 100 })
    const { usage } =
      await queryViewer(`usage(startsAt: "${new Date(from).toISOString()}", endsAt: "${new Date(to).toISOString()}",
      bucket: MONTH, groupBy: [INSTANCE, VOLUME, KIND]) { cost totals { keys { value } cost } }`)
    const used = new Map<string, bigint>()
    for (const { keys, cost } of usage.totals as Group[]) {
      const [instanceId, volumeId, kind] = keys.map(({ value }) => value)
      const name = `${instanceId?.replace('ins_', 'instance-') ?? volumeId?.replace('vol_', 'volume-')} ${kind}`
      used.set(name, toNanos(cost))
    }
    const charged = new Map<string, bigint>()
    for (const { source, items } of results as Charge[])
      for (const { type, amount } of items) charged.set(`${source} ${type === 'gpu' ? 'GPU' : 'DISK'}`, toNanos(amount))
    expect(Object.fromEntries(charged)).toEqual(Object.fromEntries(used))
    expect(sumNanos(results.map(({ amount }: Charge) => amount))).toBe(toNanos(usage.cost))
    for (const { amount, items } of results as Charge[])
      expect(sumNanos(items.map(item => item.amount))).toBe(toNanos(amount))
    expect([total, results.length > 0]).toEqual([results.length, last >= 0])
  })

  it('end where the refunded period starts', async () => {
    const select_filters = { day: { gte: begin / 1000, lte: begin / 1000 + 3 * 86_400 } }
    const { results } = await getRest('/charges/', { select_filters })
    const { nodes } = (await queryViewer(`ledger(filter: {kinds: [REFUND]}) { nodes { subjectId startsAt } }`)).ledger
    expect(nodes.map(({ subjectId }: { subjectId: string }) => subjectId)).toEqual([`ins_${offline}`, `ins_${offline}`])
    const { items, end } = results.find(({ source }: Charge) => source === `instance-${offline}`)
    const seen = Date.parse(nodes[0].startsAt) / 1000
    expect([end, ...items.map((item: { end: number }) => item.end)]).toEqual([seen, seen, seen])
  })

  it('equal the accruedCost of a stopped instance in GraphQL', async () => {
    const { results } = await getRest('/charges/', {
      select_filters: { day: { gte: begin / 1000, lte: begin / 1000 + 3 * 86_400 } },
    })
    const { data } = await app.graphql(key, `{ instance(id: "ins_${stopped}") { accruedCost } }`)
    const charge = results.find(({ source }: Charge) => source === `instance-${stopped}`)
    expect(toNanos(charge.amount)).toBe(toNanos(data.instance.accruedCost))
  })
})

type Entry = {
  id: string
  kind: string
  amount: string
  balanceAfter: string
  subjectId: string
  costPerHour: string | null
  postedAt: string
}
const listLedger = async (kinds: string): Promise<Entry[]> =>
  (
    await queryViewer(`ledger(first: 100, filter: {kinds: [${kinds}]}) {
      nodes { id kind amount balanceAfter subjectId costPerHour postedAt } }`)
  ).ledger.nodes.toReversed()
const plainId = (id: string) => Number(id.slice(4))
const subjectIds = ({ subjectId }: Entry) => ({
  instance_id: subjectId.startsWith('ins_') ? plainId(subjectId) : null,
  volume_id: subjectId.startsWith('vol_') ? plainId(subjectId) : null,
})

describe('REST invoices', () => {
  it('mirror the GraphQL ledger without charges, with opposite signs', async () => {
    const entries = await listLedger('TOP_UP, REFUND, ADJUSTMENT')
    const { results, total } = await getRest('/api/v1/invoices/', { latest_first: false, limit: 100 })
    const types: Record<string, string> = { TOP_UP: 'credit', REFUND: 'refund', ADJUSTMENT: 'adjustment' }
    const rows = entries.map(entry => ({
      ...{
        start: Date.parse(entry.postedAt) / 1000,
        end: Date.parse(entry.postedAt) / 1000,
        type: types[entry.kind],
        amount: -Number(entry.amount),
      },
      metadata: {
        ...{ invoice_id: plainId(entry.id), balance_after: Number(entry.balanceAfter) },
        ...subjectIds(entry),
      },
    }))
    expect(results).toMatchObject(rows)
    expect(total).toBe(entries.length)
    expect(entries.map(({ kind }) => kind).toSorted()).toEqual(['ADJUSTMENT', 'REFUND', 'REFUND', 'TOP_UP', 'TOP_UP'])
  })

  it('mirror the whole ledger when charges are included, and add up to the credit', async () => {
    const entries = await listLedger('GPU, DISK, TOP_UP, REFUND, ADJUSTMENT')
    const { invoices, current } = await getRest('/users/me/invoices', { owner: 'me', inc_charges: true })
    const isCharge = ({ kind }: Entry) => kind === 'GPU' || kind === 'DISK'
    const rows = entries.map(entry => ({
      ...{ id: plainId(entry.id), type: isCharge(entry) ? 'charge' : 'payment' },
      amount: Number(entry.amount) * (isCharge(entry) ? -1 : 1),
      ...{ timestamp: Date.parse(entry.postedAt) / 1000, balance_after: Number(entry.balanceAfter) },
      rate: entry.costPerHour === null ? null : Number(entry.costPerHour),
      ...subjectIds(entry),
    }))
    expect(invoices).toMatchObject(rows)
    expect(invoices).toHaveLength(rows.length)
    const of = (type: string) =>
      sumNanos(
        invoices.filter((line: { type: string }) => line.type === type).map(({ amount }: { amount: number }) => amount),
      )
    const { credit } = await queryViewer('credit')
    expect(toNanos(current.credit)).toBe(toNanos(credit))
    expect(of('payment') - of('charge') - toNanos(current.charges)).toBe(toNanos(credit))
    expect(toNanos(current.charges)).toBeGreaterThan(0n)
    // The carried remainder can add one nano-dollar to a charge.
    for (const { type, amount, quantity, rate } of invoices)
      if (type === 'charge') expect(Math.abs(amount - quantity * rate)).toBeLessThan(1.1e-9)
    expect(await getRest('/invoices', { inc_charges: true })).toEqual(invoices)
  })
})
