// Accounts that an operator disables, and enables again.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { printInstanceKey } from '../../../src/domain/accounts/api-keys.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let second: TestApp
let gateway: Gateway
let rentals: Rentals
let key: string
let id: number

const why = 'The card was charged back. Write to billing@example.com.'
const message = `An operator of the service has disabled this account: ${why}`
const disable = (keepInstances = false, reason = why) =>
  app.operations.accounts.disable({ id }, { reason, keepInstances })
const enable = () => app.operations.accounts.enable({ id })

beforeAll(async () => {
  app = await startApp()
  second = await startApp({ sharedApp: app })
  gateway = openGateway({ url: app.database.url, now: app.clock.now })
  rentals = rentalsOf(app)
})

beforeEach(async () => {
  key = await app.newKey(null, someCredit)
  id = (await actorOf(key)).accountId
})

afterAll(async () => {
  await gateway.close()
  await second.close()
  await app.close()
})

async function actorOf(apiKey: string): Promise<Actor> {
  const publicId = apiKey.split('_')[1] as string
  const [row] = (await app.sql(`SELECT id, account_id FROM api_keys WHERE public_id = '${publicId}'`)) as {
    id: number
    account_id: number
  }[]
  return { accountId: row?.account_id as number, apiKeyId: row?.id as number, publicId, permissions: null }
}

const eventsOf = () =>
  app.sql(
    `SELECT kind, actor_kind, note FROM events WHERE account_id = ${id} AND kind LIKE 'ACCOUNT_%ABLED' ORDER BY id`,
  )

const seen = async (instance: number) =>
  (await app.graphql(key, `{ instance(id: ${instance}) { status targetState statusReason { code message } } }`)).data
    .instance

describe('the keys of a disabled account', () => {
  it('are refused on both faces of every gateway, with the reason, until it is enabled', async () => {
    const disabledAt = app.clock.now()
    expect(await disable()).toMatchObject({ id, changed: true })
    for (const each of [app, second]) {
      const rest = await each.rest(key, 'GET', '/users/current/')
      expect([rest.status, rest.body]).toEqual([403, { success: false, error: 'account_disabled', msg: message }])
      const graphql = await each.graphql(key, '{ viewer { account { id } } }')
      const extensions = { code: 'ACCOUNT_DISABLED', retry: 'AFTER_FIX', since: disabledAt.toISOString(), reason: why }
      expect([graphql.status, graphql.errors]).toEqual([403, [{ message, extensions }]])
    }
    expect(await enable()).toMatchObject({ id, changed: true })
    for (const each of [app, second]) expect((await each.rest(key, 'GET', '/users/current/')).status).toBe(200)
  })

  it('stay wrong keys if their secret is wrong or they are revoked', async () => {
    await disable()
    const wrong = `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`
    expect((await app.rest(wrong, 'GET', '/users/current/')).body.error).toBe('auth_error')
    await app.operations.apiKeys.revoke({ id: (await actorOf(key)).apiKeyId })
    expect((await app.rest(key, 'GET', '/users/current/')).body.error).toBe('auth_error')
  })

  it('include those of its instances', async () => {
    const instance = await rentals.rentToStatus(key, 'running')
    const proof = createSecrets('a secret of tests').digest('instance key', String(instance)).toString('hex')
    const own = printInstanceKey(BigInt(instance), proof)
    await disable(true)
    const start = () => app.rest(own, 'PUT', `/instances/${instance}/`, { state: 'running' })
    expect((await start()).body).toMatchObject({ error: 'account_disabled', msg: message })
    await enable()
    expect((await start()).status).toBe(200)
  })
})

describe('an account', () => {
  it('is disabled and enabled once by repeated requests to several gateways', async () => {
    const operations = [app.operations, gateway.operations, second.operations]
    const disabling = operations.map(({ accounts }) => accounts.disable({ id }, { reason: why, keepInstances: false }))
    expect((await Promise.all(disabling)).filter(({ changed }) => changed)).toHaveLength(1)
    expect(await disable(false, 'Fraud.')).toMatchObject({ changed: true })
    const [{ email } = { email: '' }] = (await app.sql(`SELECT email FROM accounts WHERE id = ${id}`)) as {
      email: string
    }[]
    const enabling = operations.map(({ accounts }) => accounts.enable(email.toUpperCase(), 'Settled.'))
    expect((await Promise.all(enabling)).filter(({ changed }) => changed)).toHaveLength(1)
    expect(await eventsOf()).toEqual([
      { kind: 'ACCOUNT_DISABLED', actor_kind: 'operator', note: why },
      { kind: 'ACCOUNT_DISABLED', actor_kind: 'operator', note: 'Fraud.' },
      { kind: 'ACCOUNT_ENABLED', actor_kind: 'operator', note: 'Settled.' },
    ])
    const { data } = await app.graphql(key, '{ events(last: 3) { nodes { kind message note actor { kind } } } }')
    expect(data.events.nodes[0]).toEqual({
      ...{ kind: 'ACCOUNT_DISABLED', note: why, actor: { kind: 'OPERATOR' } },
      message: 'The operator disabled the account: its API keys are refused, and its instances stop.',
    })
  })

  it('must exist, and needs a reason that can be shown', async () => {
    const unknown = app.operations.accounts.disable({ id: 2_000_000_000 }, { reason: why, keepInstances: false })
    await expect(unknown).rejects.toThrow('There is no account 2000000000.')
    await expect(app.operations.accounts.enable('nobody@example.com')).rejects.toThrow(
      'There is no account with the email',
    )
    await expect(disable(false, ' ')).rejects.toThrow('reason: must not be blank.')
    const half = app.sql(`UPDATE accounts SET disabled_at = now() WHERE id = ${id}`)
    await expect(half).rejects.toThrow('accounts_disabled_with_reason')
  })

  it('is shown with what it has', async () => {
    await rentals.rent(key)
    await disable()
    expect(await app.operations.accounts.show({ id })).toMatchObject({
      ...{ id, disabledReason: why, keys: 1, instances: 1, volumes: 0, machines: 0 },
    })
    const [listed] = await app.operations.accounts.page(id - 1, 1)
    expect(listed).toMatchObject({ id, disabledAt: expect.any(Date) })
  })
})

describe('the instances of a disabled account', () => {
  it('stop with the reason, cost nothing from then on but their disks, and start when their renter wants it', async () => {
    const instance = await rentals.rentToStatus(key, 'running')
    const waiting = await rentals.rent(key)
    await disable()
    const disabledAt = app.clock.now()
    app.clock.advance(3_600_000)
    // A gateway may die before it stops them: another one does.
    await second.runUntilIdle()
    const [charge] =
      await app.sql(`SELECT max(period_end) AS until FROM ledger_entries e JOIN meters m ON m.id = e.meter_id
      WHERE m.instance_id = ${instance} AND e.kind = 'gpu'`)
    expect(charge).toEqual({ until: disabledAt })
    await enable()
    await rentals.converge()
    const statusReason = { code: 'ACCOUNT_DISABLED', message }
    expect(await seen(instance)).toEqual({ status: 'STOPPED', targetState: 'STOPPED', statusReason })
    expect((await seen(waiting)).targetState).toBe('STOPPED')
    await app.rest(key, 'PUT', `/instances/${instance}/`, { state: 'running' })
    await rentals.converge()
    expect(await seen(instance)).toMatchObject({ status: 'RUNNING' })
  })

  it('go on if the operator keeps them, and stop if the operator disables the account again without that', async () => {
    const instance = await rentals.rentToStatus(key, 'running')
    await disable(true)
    await rentals.converge()
    const statusOf = async () => (await app.operations.instances.byId(BigInt(instance))).instance.status
    expect(await statusOf()).toBe('running')
    expect(await disable(false)).toMatchObject({ changed: true })
    expect(await disable(false)).toMatchObject({ changed: false })
    await rentals.converge()
    expect(await statusOf()).toBe('stopped')
  })

  it('that only load or wait stop, too, and the account is told', async () => {
    const instance = await rentals.rent(key)
    await disable(true)
    expect(await disable(false)).toMatchObject({ changed: true })
    expect(await disable(false)).toMatchObject({ changed: false })
    const told = await app.sql(`SELECT after->>'keepsInstances' AS kept FROM events
      WHERE account_id = ${id} AND kind = 'ACCOUNT_DISABLED' ORDER BY id`)
    expect(told).toEqual([{ kept: 'true' }, { kept: 'false' }])
    await rentals.converge()
    expect(await app.sql(`SELECT target_state FROM instances WHERE id = ${instance}`)).toEqual([
      { target_state: 'stopped' },
    ])
  })

  it('do not start with a request that began before', async () => {
    const actor = await actorOf(key)
    const stopped = await rentals.rentToStatus(key, 'stopped')
    await disable()
    const refused = { code: 'ACCOUNT_DISABLED', details: { reason: why } }
    const offer = BigInt(await rentals.newOffer())
    await expect(gateway.rent(actor, offer)).rejects.toMatchObject(refused)
    const start = gateway.services.instances.update(actor, { ids: [BigInt(stopped)] }, { targetState: 'running' })
    expect(await start).toMatchObject([{ outcome: 'failed', error: refused }])
    expect((await app.operations.accounts.show({ id })).instances).toBe(1)
  })

  it('stop even if they are rented at the same time', async () => {
    const actor = await actorOf(key)
    const offers: bigint[] = []
    for (let n = 0; n < 8; n += 1) offers.push(BigInt(await rentals.newOffer()))
    const renting = offers.map(offer => gateway.rent(actor, offer).catch(() => undefined))
    await disable()
    await Promise.all(renting)
    await rentals.converge()
    const wanting = `SELECT FROM instances WHERE account_id = ${id} AND target_state = 'running'`
    expect(await app.sql(wanting)).toEqual([])
  })
})
