// Whatever happens to an instance, and whenever the reconciler runs, the GPUs never cost more than `stopAtCost` allows.

import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
import { transaction } from '../../../src/database/transaction.ts'
import { lockAccount } from '../../../src/services/billing/balance.ts'
import { chargeMeters } from '../../../src/services/billing/meters.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { policiesOf } from '../../support/instances/policies.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'

const second = 1_000
const limit = 1_000_000_000n
let app: TestApp
let gateway: Gateway
let key: string
let policies: ReturnType<typeof policiesOf>

beforeAll(async () => {
  app = await startApp()
  gateway = openGateway({ url: app.database.url, now: app.clock.now })
  policies = policiesOf(app, rentalsOf(app), () => key)
})

afterAll(async () => {
  await gateway.close()
  await app.close()
})

type Command =
  | { name: 'pass'; ms: number }
  | { name: 'work' | 'charge' | 'start' | 'stop' }
  | { name: 'bid'; price: string }
  | { name: 'stopIn'; ms: number }

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ name: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 7_200 * second }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ name: fc.constant('pass' as const), ms: fc.integer({ min: -900 * second, max: -1 }) }),
  },
  { weight: 4, arbitrary: fc.record({ name: fc.constantFrom('work' as const, 'charge' as const, 'start' as const) }) },
  { weight: 1, arbitrary: fc.record({ name: fc.constant('stop' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ name: fc.constant('bid' as const), price: fc.constantFrom('0.25', '0.4', '0.9', '7') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ name: fc.constant('stopIn' as const), ms: fc.integer({ min: 1, max: 7_200 * second }) }),
  },
)

async function perform(id: number, accountId: number, command: Command): Promise<void> {
  switch (command.name) {
    case 'pass':
      app.clock.advance(command.ms)
      break
    case 'work':
      for (let turn = 1; turn <= 3; turn += 1) {
        await app.runUntilIdle()
        app.clock.advance(20 * second)
      }
      break
    case 'charge':
      await transaction(gateway.database, async tx => {
        await chargeMeters(tx, await lockAccount(tx, accountId, app.clock.now()), Prisma.sql`true`)
      })
      break
    case 'start':
    case 'stop':
      await policies.setTargetState(id, command.name === 'start' ? 'RUNNING' : 'STOPPED')
      break
    case 'bid': {
      const input = { id: String(id), bidPerHour: command.price }
      const query = 'mutation ($input: UpdateInstanceBidInput!) { updateInstanceBid(input: $input) { __typename } }'
      await app.graphql(key, query, { input })
      break
    }
    case 'stopIn':
      await policies.set(id, { stopAt: new Date(app.clock.now().getTime() + command.ms).toISOString() })
      break
  }
}

/** The cost of the instance up to the last instant that GPUs were charged for, in nano-dollars. */
async function costOf(id: number) {
  const { nanos, until } = await policies.charged(id, 'gpu')
  const [row] = await app.sql(`SELECT created_at AS at, disk_nanos::text AS rate FROM instances WHERE id = ${id}`)
  const { at, rate } = row as { at: Date; rate: string }
  const disk = until ? (BigInt(rate) * BigInt(until.getTime() - at.getTime())) / 3_600_000n : 0n
  return nanos + disk
}

it('never charges GPUs beyond stopAtCost', async () => {
  let reached = 0
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 30 }), async commands => {
      key = await app.newKey(null, someCredit)
      const terms = { interruptible: { bidPerHour: '0.4' } }
      const id = await policies.run({ stopAtCost: '1' }, { terms }, { listedUntil: new Date('2036-01-01') })
      const [row] = await app.sql(`SELECT account_id AS id FROM instances WHERE id = ${id}`)
      const { id: accountId } = row as { id: number }
      for (const each of commands) {
        await perform(id, accountId, each)
        expect(await costOf(id)).toBeLessThanOrEqual(limit)
      }
      // A running instance has a running meter.
      app.clock.advance(3_600 * second)
      await perform(id, accountId, { name: 'work' })
      const { status } = await policies.read(id)
      if (status === 'RUNNING') {
        const [meter] =
          await app.sql(`SELECT rate_nanos > 0 AS runs, ends_at > '${app.clock.now().toISOString()}' AS goes
          FROM meters WHERE instance_id = ${id} AND kind = 'gpu'`)
        expect(meter).toEqual({ runs: true, goes: true })
      }
      await policies.set(id, { stopAt: null })
      await policies.setTargetState(id, 'RUNNING')
      await perform(id, accountId, { name: 'work' })
      app.clock.advance(100 * 3_600 * second)
      await perform(id, accountId, { name: 'work' })
      const cost = await costOf(id)
      expect(cost).toBeLessThanOrEqual(limit)
      if (cost > limit - 10_000n) reached += 1
      await app.rest(key, 'DELETE', `/instances/${id}/`)
    }),
    { numRuns: 4 },
  )
  expect(reached).toBeGreaterThan(0)
}, 120_000)
