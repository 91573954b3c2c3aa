// Many writers charge one account at once. The ledger must add up to the nano-dollar.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { Prisma } from '../../src/database/generated/client.ts'
import { transaction } from '../../src/database/transaction.ts'
import type { Actor } from '../../src/domain/actor.ts'
import { DomainError } from '../../src/domain/errors.ts'
import { lockAccount } from '../../src/services/billing/balance.ts'
import { chargeMeters } from '../../src/services/billing/meters.ts'
import { withoutQuotasSql } from '../support/accounts/unbounded.ts'
import { brokenLaws } from '../support/billing/ledger-laws.ts'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { expectNoDeadlock } from '../support/database/deadlocks.ts'
import { listMachines } from '../support/factories.ts'
import { type Gateway, openGateway } from '../support/gateways.ts'

const writers = 8
const instances = 100
const durationMs = Number(process.env['BILLING_MS'] ?? 30_000)

let testDatabase: TestDatabase
let gateways: Gateway[]

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateways = [0, 1].map(() =>
    openGateway({ url: testDatabase.url, now: () => new Date(), poolSize: 10, delayFactor: 0.01 }),
  )
})

afterAll(async () => {
  for (const gateway of gateways) await gateway.close()
  await testDatabase.drop()
})

async function chargeAccount({ database }: Gateway, { accountId }: Actor): Promise<void> {
  await transaction(database, async tx => {
    await chargeMeters(tx, await lockAccount(tx, accountId, new Date()), Prisma.sql`true`)
  })
}

it('keeps the ledger of an account exact while eight writers charge it, without a deadlock', async () => {
  const [first] = gateways as [Gateway, Gateway]
  const machines = Array.from({ length: instances }, (_, index) => ({ machine: { publicIp: `198.18.1.${index}` } }))
  await listMachines(first.operations, machines)
  const [actor, rival] = [await first.newActor(), await first.newActor()]
  for (const { accountId } of [actor, rival]) await first.sql(withoutQuotasSql(accountId))
  const [row] = await first.sql('SELECT email FROM accounts WHERE id = $1', [actor.accountId])
  const email = row?.['email'] as string
  const pickInstances = async (gateway: Gateway, owner: Actor, limit: number) =>
    (
      await gateway.sql(
        'SELECT id FROM instances WHERE account_id = $1 AND destroyed_at IS NULL ORDER BY random() LIMIT $2',
        [owner.accountId, limit],
      )
    ).map(({ id }) => BigInt(id as string))
  const rentAny = async (gateway: Gateway, owner: Actor, overMinimumNanos: bigint) => {
    const [offer] = await gateway.sql(
      'SELECT id, min_bid_nanos FROM offers WHERE withdrawn_at IS NULL ORDER BY NOT rentable, random() LIMIT 1',
    )
    if (!offer) return
    const bidNanos = BigInt(offer['min_bid_nanos'] as string) + overMinimumNanos
    await gateway.rent(owner, BigInt(offer['id'] as string), { terms: { interruptible: true, bidNanos } })
  }

  const done = new Map<string, number>()
  let granted = 0n
  let lockTimeouts = 0
  const commands: Record<string, (gateway: Gateway) => Promise<unknown>> = {
    async 'top up'(gateway) {
      await gateway.operations.accounts.grantCredit(email, { amountNanos: 1_000_000_007n })
      granted += 1_000_000_007n
    },
    rent: gateway => rentAny(gateway, actor, 0n),
    'rent more': gateway => rentAny(gateway, actor, 1_000_000n),
    outbid: gateway => rentAny(gateway, rival, 2_000_000n),
    async stop(gateway) {
      const ids = await pickInstances(gateway, actor, 6)
      await gateway.services.instances.update(actor, { ids }, { targetState: 'stopped' })
    },
    async start(gateway) {
      const ids = await pickInstances(gateway, actor, 12)
      await gateway.services.instances.update(actor, { ids }, { targetState: 'running' })
    },
    async bid(gateway) {
      const [id] = await pickInstances(gateway, actor, 1)
      if (id) await gateway.services.instances.updateBid(actor, id, 300_000_000n + BigInt(done.get('bid') ?? 0) * 7n)
    },
    async 'bid of the rival'(gateway) {
      const [id] = await pickInstances(gateway, rival, 1)
      if (id) await gateway.services.instances.updateBid(rival, id, 310_000_000n + BigInt(done.get('bid') ?? 0) * 11n)
    },
    async destroy(gateway) {
      for (const owner of [actor, rival]) {
        const living = await pickInstances(gateway, owner, 2 * instances)
        if (living.length > instances / 2) await gateway.services.instances.destroy(owner, { ids: living.slice(0, 3) })
      }
    },
    settle: gateway => chargeAccount(gateway, actor),
    'settle the rival': gateway => chargeAccount(gateway, rival),
  }

  for (let count = 0; count < instances; count += 1) await rentAny(first, actor, 0n)
  const end = Date.now() + durationMs
  const write = async (index: number) => {
    const gateway = gateways[index % 2] as Gateway
    const names = Object.keys(commands)
    for (let turn = index; Date.now() < end; turn += 1) {
      const name = names[turn % names.length] as string
      const hasFailed = await commands[name]?.(gateway).then(
        () => false,
        (error: unknown) => {
          if (error instanceof DomainError) return true
          // 55P03 is a lock timeout: the command had no effect.
          if ((error as { code?: string }).code !== '55P03') throw error
          lockTimeouts += 1
          return true
        },
      )
      if (!hasFailed) done.set(name, (done.get(name) ?? 0) + 1)
    }
  }
  const reconcile = async (gateway: Gateway) => {
    while (Date.now() < end) await gateway.idle()
  }
  await Promise.all([...Array.from({ length: writers }, (_, index) => write(index)), ...gateways.map(reconcile)])

  for (const owner of [actor, rival]) {
    for (let ids = await pickInstances(first, owner, 64); ids.length > 0; ids = await pickInstances(first, owner, 64)) {
      await first.services.instances.destroy(owner, { ids })
    }
    await chargeAccount(first, owner)
  }
  await expectNoDeadlock(testDatabase.url)
  for (const name of Object.keys(commands))
    expect([name, done.get(name) ?? 0]).toEqual([name, expect.toSatisfy(n => n > 10)])
  for (const { lines } of gateways) expect(lines.filter(({ level }) => (level as number) >= 40)).toEqual([])
  expect(await brokenLaws(first.sql)).toEqual([])

  // Recomputes the sums by other rules: the cost of each instance over its whole life.
  const [sums] = await first.sql(
    `SELECT sum(amount_nanos) FILTER (WHERE kind = 'top_up') AS given, sum(amount_nanos) AS left, count(*) AS entries,
      count(*) FILTER (WHERE kind = 'gpu') AS gpu, (SELECT posted_nanos FROM accounts WHERE id = $1) AS posted
     FROM ledger_entries WHERE account_id = $1`,
    [actor.accountId],
  )
  expect(sums?.['given']).toBe(String(1_000_000_000_000n + granted))
  expect(sums?.['posted']).toBe(sums?.['left'])
  expect(Number(sums?.['gpu'])).toBeGreaterThan(instances)
  expect(
    await first.sql(`
      SELECT m.id FROM meters m JOIN instances i ON i.id = m.instance_id CROSS JOIN LATERAL (
        SELECT min(period_start) AS first, max(period_end) AS last, coalesce(-sum(amount_nanos), 0) AS total
        FROM ledger_entries WHERE meter_id = m.id AND kind = 'disk') l
      WHERE m.kind = 'disk' AND (m.rate_nanos <> 0
        OR l.total <> div(i.disk_nanos * extract(epoch FROM l.last - l.first) * 1000, 3600000)
        OR abs(extract(epoch FROM l.first - i.created_at)) > 2 OR abs(extract(epoch FROM l.last - i.destroyed_at)) > 2)`),
  ).toEqual([])
  expect(
    await first.sql(`
      SELECT m.id FROM meters m WHERE kind = 'gpu' AND (rate_nanos <> 0
        OR charged_nanos * 3600000 + carried <> coalesce((
          SELECT sum(rate_nanos * extract(epoch FROM period_end - period_start) * 1000) FROM ledger_entries WHERE meter_id = m.id), 0))`),
  ).toEqual([])
  expect(await first.sql('SELECT FROM meter_ends')).toEqual([])
  process.stdout.write(`${JSON.stringify({ ...Object.fromEntries(done), busy: lockTimeouts, ...sums })}\n`)
})
