// Instances whose GPU charges ended are stopped, even if other changes come first.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transaction } from '../../../src/database/transaction.ts'
import { lockAccount } from '../../../src/services/billing/balance.ts'
import { lockTargets, performAction } from '../../../src/services/billing/due/actions.ts'
import { newAccount, type TestAccount } from '../../support/accounts/accounts.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { creditSql } from '../../support/billing/credit-sql.ts'
import { openGateway } from '../../support/gateways.ts'

const dollar = 1_000_000_000n
const minute = 60_000
let app: TestApp

beforeAll(async () => {
  app = await startApp()
})

afterAll(() => app.close())

const limit = (window: string, amount: string) =>
  `createSpendLimit(input: {subject: {account: true}, window: ${window}, amount: "${amount}", action: STOP_RUNNING}) { __typename }`
const limitIds = async (account: TestAccount): Promise<string[]> => {
  const { data } = await app.graphql(account.key, '{ viewer { account { spendLimits { id } } } }')
  return data.viewer.account.spendLimits.map(({ id }: { id: string }) => id)
}
/** Mutations that delete the limits of the account. */
const deletion = async (account: TestAccount) =>
  (await limitIds(account)).map(id => `deleteSpendLimit(input: {id: "${id}"}) { __typename }`)
/** The mutation that gives the only limit of the account another amount. */
const raise = async (account: TestAccount, amount: string) =>
  `updateSpendLimit(input: {id: "${(await limitIds(account))[0]}", amount: "${amount}"}) { __typename }`
const mutate = (account: TestAccount, ...fields: string[]) =>
  app.graphql(account.key, `mutation { ${fields.map((field, index) => `m${index}: ${field}`).join(' ')} }`)
const chargedTo = async (account: TestAccount) =>
  (await account.entries(`e.kind = 'gpu'`)).reduce((sum, { amount }) => sum - amount, 0n)

describe('an instance whose GPU charges were ended by a limit', () => {
  it.each([
    ['deleted', deletion],
    ['raised', async (account: TestAccount) => [await raise(account, '100')]],
  ])('is stopped even if the limit is %s at once', async (_, lift) => {
    const account = await newAccount(app, 100n * dollar)
    const { id } = await account.rentRunning()
    app.clock.advance(minute)
    expect(JSON.stringify(await mutate(account, limit('DAY', '0.000001')))).toContain('CreateSpendLimitSuccess')
    expect(JSON.stringify(await mutate(account, ...(await lift(account))))).toContain('Success')
    await app.runUntilIdle()
    expect(await account.instance(id)).toMatchObject({ target_state: 'stopped', target_reason: 'SPEND_LIMIT' })
    // The GPUs are charged again after the instance is started again.
    await mutate(account, `startInstance(input: {id: "${id}"}) { __typename }`)
    for (let turn = 0; turn < 3; turn += 1) {
      await app.runUntilIdle()
      app.clock.advance(30_000)
    }
    const before = await chargedTo(account)
    app.clock.advance(60 * minute)
    await mutate(account, `stopInstance(input: {id: "${id}"}) { __typename }`)
    expect((await chargedTo(account)) - before > 400_000_000n).toBe(true)
  })

  it('is stopped even if the rate is within the limit again before the next pass', async () => {
    const account = await newAccount(app, 100n * dollar)
    const [one, other] = [await account.rentRunning(), await account.rentRunning()]
    const stop = `stopInstance(input: {id: "${one.id}"}) { __typename }`
    await mutate(account, limit('HOUR', '0.5'), limit('MONTH', '1000'), stop)
    await app.runUntilIdle()
    for (const { id } of [one, other]) expect(await account.instance(id)).toMatchObject({ target_state: 'stopped' })
    expect(await account.instance(other.id)).toMatchObject({ target_reason: 'SPEND_LIMIT' })
  })

  it('is stopped in a later batch even if the first batch brings the rate within the limit', async () => {
    const account = await newAccount(app, 100n * dollar)
    const [one, other] = [await account.rentRunning(), await account.rentRunning()]
    await mutate(account, limit('HOUR', '0.5'))
    const gateway = openGateway({ url: app.database.url, now: app.clock.now })
    const at = app.clock.now()
    await transaction(gateway.database, async tx => {
      const targets = await lockTargets(tx, account.id, { instanceIds: [BigInt(one.id)] })
      await performAction(tx, await lockAccount(tx, account.id, at), 'stop', targets, at)
    })
    await gateway.close()
    expect(await account.instance(one.id)).toMatchObject({ target_state: 'stopped' })
    expect(await account.instance(other.id)).toMatchObject({ target_state: 'running' })
    await app.runUntilIdle()
    for (const { id } of [one, other]) {
      expect(await account.instance(id)).toMatchObject({ target_state: 'stopped', target_reason: 'SPEND_LIMIT' })
    }
  })

  it('is stopped even if its bid changes before the next pass', async () => {
    const account = await newAccount(app, 100n * dollar)
    const { id } = await account.rentRunning({ price: 0.3 })
    await mutate(
      account,
      limit('HOUR', '0.1'),
      limit('MONTH', '1000'),
      `updateInstanceBid(input: {id: "${id}", bidPerHour: "0.29"}) { __typename }`,
    )
    await app.runUntilIdle()
    expect(await account.instance(id)).toMatchObject({ target_state: 'stopped', target_reason: 'SPEND_LIMIT' })
  })
})

describe('an instance whose GPU charges ended with the credit', () => {
  it('is stopped even if it has a new bid and the account has credit again before the next pass', async () => {
    const account = await newAccount(app, dollar)
    const { id } = await account.rentRunning({ price: 0.3 })
    app.clock.advance(10 * 60 * minute)
    await mutate(account, `updateInstanceBid(input: {id: "${id}", bidPerHour: "0.29"}) { __typename }`)
    await app.operations.accounts.grantCredit(account.email, { amountNanos: 10n * dollar })
    const charged = await chargedTo(account)
    await app.runUntilIdle()
    expect(await account.instance(id)).toMatchObject({ target_state: 'stopped', target_reason: 'NO_CREDIT' })
    expect(await chargedTo(account)).toBe(charged)
    expect(charged < dollar).toBe(true)
  })

  it('is stopped, and an instance rented afterwards keeps running', async () => {
    const account = await newAccount(app, dollar)
    const { id } = await account.rentRunning()
    app.clock.advance(10 * 60 * minute)
    await app.operations.accounts.grantCredit(account.email, { amountNanos: 10n * dollar })
    const { id: since } = await account.rentRunning()
    expect(await account.instance(id)).toMatchObject({ target_state: 'stopped', target_reason: 'NO_CREDIT' })
    expect(await account.instance(since)).toMatchObject({ target_state: 'running', status: 'running' })
  })
})

describe('an instance with stopAt', () => {
  it('is stopped once stopAt has passed, even if a mutation removes stopAt afterwards', async () => {
    const account = await newAccount(app, 100n * dollar)
    const { id } = await account.rentRunning({ price: 0.3 })
    const stopAt = new Date(app.clock.now().getTime() + 10)
    await mutate(
      account,
      `updateInstancePolicy(input: {id: "${id}", stopAt: "${stopAt.toISOString()}"}) { __typename }`,
    )
    app.clock.advance(20)
    await mutate(
      account,
      `updateInstanceBid(input: {id: "${id}", bidPerHour: "0.29"}) { __typename }`,
      `updateInstancePolicy(input: {id: "${id}", stopAt: null}) { __typename }`,
    )
    expect(await account.instance(id)).toMatchObject({
      target_state: 'stopped',
      target_reason: 'SCHEDULE',
      stop_at: null,
    })
    const [last] = await account.entries(`e.kind = 'gpu' AND e.period_end = '${stopAt.toISOString()}'`)
    expect(last).toBeDefined()
  })
})

describe('a disk whose charges have ended', () => {
  it('uses no credit, even before its instance is destroyed', async () => {
    const account = await newAccount(app, 60n * dollar)
    const [one, other] = [
      await account.rentRunning(),
      await account.rentRunning({ disk: 60 }, { diskPricePerGbMonthNanos: 10n * dollar }),
    ]
    await app.sql(creditSql(3n * dollar, `id = ${account.id}`))
    const destroyAt = new Date(app.clock.now().getTime() + 60 * minute).toISOString()
    await mutate(account, `updateInstancePolicy(input: {id: "${other.id}", destroyAt: "${destroyAt}"}) { __typename }`)
    app.clock.advance(3 * 60 * minute)
    const query = '{ viewer { account { credit costPerHour usage { cost } } } instances { nodes { costPerHour } } }'
    const { data } = await app.graphql(account.key, query)
    const nanos = (usd: string) => BigInt(Math.round(Number(usd) * 1e9))
    const left = 3n * dollar - nanos(data.viewer.account.usage.cost) - nanos(data.viewer.account.credit)
    // Each meter has used only a part of its next nano-dollar.
    expect(left >= -4n && left <= 4n, `${left}`).toBe(true)
    const rates = data.instances.nodes.reduce(
      (sum: bigint, node: { costPerHour: string }) => sum + nanos(node.costPerHour),
      0n,
    )
    expect(nanos(data.viewer.account.costPerHour)).toBe(rates)
    await app.runUntilIdle()
    expect(await account.instance(one.id)).toMatchObject({ target_state: 'running' })
    expect(await account.instance(other.id)).toMatchObject({ destroyed_at: expect.any(Date) })
    await app.sql(creditSql(100n * dollar, `id = ${account.id}`))
  })
})
