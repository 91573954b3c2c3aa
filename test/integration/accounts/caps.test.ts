// Caps: spend limits that an operator sets for an account, which it cannot lift.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { limitsOf } from '../../support/billing/limits.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let other: Gateway
let rentals: Rentals
let limits: ReturnType<typeof limitsOf>
let key: string
let id: number

beforeAll(async () => {
  app = await startApp()
  other = openGateway({ url: app.database.url, now: app.clock.now })
  rentals = rentalsOf(app)
  limits = limitsOf(app)
})

beforeEach(async () => {
  key = await app.newKey(null, someCredit)
  id = (await limits.accountOf(key)).accountId
})

afterAll(async () => {
  await other.close()
  await app.close()
})

const dollar = 1_000_000_000n
const setCaps = (
  amounts: Parameters<typeof app.operations.caps.set>[1],
  action: 'block_new' | 'stop_running' = 'block_new',
) => app.operations.caps.set({ id }, amounts, action)
const read = async () => {
  const query = '{ viewer { account { spendLimits { id window amount action setByOperator } } } }'
  return (await app.graphql(key, query)).data.viewer.account.spendLimits
}
const eventsOf = () =>
  app.sql(`SELECT kind, actor_kind, after->>'amountNanos' AS amount FROM events
    WHERE account_id = ${id} AND kind LIKE 'SPEND_LIMIT%' ORDER BY id`)

describe('a cap', () => {
  it('refuses what would cost more per hour, and says that the operator can raise it', async () => {
    await setCaps({ hour: 500_000_000n })
    await rentals.rent(key)
    const { status, body } = await rentals.tryRent(key, { image: 'ubuntu' })
    expect([status, body.error]).toEqual([400, 'spend_limit_exceeded'])
    expect(body.msg).toBe(
      'The spend limit of the account that an operator set is $0.5 an hour: $0.404 is in use and this request adds $0.404. Stop or destroy something first, or ask the operator to raise the limit.',
    )
    await setCaps({ hour: dollar })
    await rentals.rent(key)
  })

  it('stops what runs once it is reached, if the operator wants that', async () => {
    const instance = await rentals.rentToStatus(key, 'running')
    await setCaps({ hour: dollar / 10n }, 'stop_running')
    await rentals.converge()
    expect(await rentals.read(key, instance)).toMatchObject({ actual_status: 'stopped', intended_status: 'stopped' })
  })

  it('is read by its account, which can neither change nor delete it, and has its own limits beside it', async () => {
    await setCaps({ hour: 5n * dollar, month: 1_000n * dollar }, 'stop_running')
    const [hour, month] = await read()
    expect([hour, month]).toMatchObject([
      { window: 'HOUR', amount: '5', action: 'STOP_RUNNING', setByOperator: true },
      { window: 'MONTH', amount: '1000', setByOperator: true },
    ])
    expect(await limits.update(key, { id: hour.id, amount: '500' })).toBe('FORBIDDEN')
    expect(await limits.remove(key, hour.id)).toBe('FORBIDDEN')
    const own = await limits.create(key, { window: 'HOUR', amount: '2' })
    expect(own).toMatchObject({ window: 'HOUR', amount: '2' })
    expect(await limits.remove(key, own.id)).toBe(own.id)
    expect(await read()).toEqual([hour, month])
  })

  it('is set, changed and removed once by repeated requests to two gateways, with one event for each', async () => {
    const operations = [app.operations, other.operations, app.operations]
    await Promise.all(operations.map(({ caps }) => caps.set({ id }, { day: dollar }, 'block_new')))
    await setCaps({ day: 2n * dollar, month: null })
    expect(await app.operations.caps.ofAccount(id)).toMatchObject([{ window: 'day', amountNanos: 2n * dollar }])
    const removals = operations.map(({ caps }) => caps.set({ id }, { day: null }, 'block_new'))
    for (const { limits: left } of await Promise.all(removals)) expect(left).toEqual([])
    expect(await eventsOf()).toEqual([
      { kind: 'SPEND_LIMIT_CREATED', actor_kind: 'operator', amount: String(dollar) },
      { kind: 'SPEND_LIMIT_UPDATED', actor_kind: 'operator', amount: String(2n * dollar) },
      { kind: 'SPEND_LIMIT_DELETED', actor_kind: 'operator', amount: null },
    ])
  })

  it('has an amount that can be charged, and caps a whole account', async () => {
    await expect(setCaps({ hour: -1n })).rejects.toThrow('amount: must be from 0 to 999999999, not -0.000000001.')
    await setCaps({ hour: dollar })
    const bound = app.sql(`UPDATE spend_limits SET api_key_id = (SELECT id FROM api_keys WHERE account_id = ${id})
      WHERE account_id = ${id}`)
    await expect(bound).rejects.toThrow('spend_limits_cap_whole_accounts')
    const twice =
      app.sql(`INSERT INTO spend_limits (account_id, "window", amount_nanos, action, cap, created_at, updated_at)
      SELECT account_id, "window", 1, action, cap, created_at, updated_at FROM spend_limits WHERE account_id = ${id}`)
    await expect(twice).rejects.toThrow('spend_limits_one_of_a_kind')
  })
})
