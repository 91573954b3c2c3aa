import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { rentalsOf } from '../../support/instances/rentals.ts'

let app: TestApp
let other: Gateway
let accounts = 0
let email: string

beforeAll(async () => {
  app = await startApp()
  other = openGateway({ url: app.database.url, now: app.clock.now })
})

afterAll(async () => {
  await other.close()
  await app.close()
})

const newAccount = async () => {
  accounts += 1
  email = `account-${accounts}@example.com`
  return await app.operations.accounts.create({ email, creditNanos: 1_000_000_000n })
}
const eventsOf = (accountId: number) =>
  app.sql(
    `SELECT kind, before, after, reason, note, api_key_id FROM events WHERE account_id = ${accountId} ORDER BY id`,
  )
type GrantEvent = { kind: string; before: { creditNanos: string }; after: { creditNanos: string } }
/** Events of grants and adjustments after the account's creation. */
const grantsOf = async (accountId: number) =>
  ((await eventsOf(accountId)) as GrantEvent[]).slice(2).filter(({ kind }) => kind === 'CREDIT_GRANTED')
const creditOf = async (key: string) => (await app.rest(key, 'GET', '/users/current/')).body.credit
const grant = (amountNanos: bigint, more: { idempotencyKey?: string; reason?: string } = {}) =>
  app.operations.accounts.grantCredit(email, { amountNanos, ...more })

describe('an account', () => {
  it('starts with a key and with credit, and its history shows both', async () => {
    const { account, apiKey } = await newAccount()
    const [key] = await app.operations.apiKeys.page({ accountId: account.id }, 0, 10)
    const facts = { apiKeyId: key?.id, name: 'default', permissions: null, expiresAt: null }
    const [before, after] = [{ creditNanos: '0' }, { creditNanos: '1000000000' }]
    expect(await eventsOf(account.id)).toEqual([
      { kind: 'CREDIT_GRANTED', before, after, reason: null, note: null, api_key_id: null },
      { kind: 'API_KEY_CREATED', before: null, after: facts, reason: null, note: null, api_key_id: null },
    ])
    expect(await creditOf(apiKey)).toBe(1)
  })

  it('is created once per email address, and has no credit event without initial credit', async () => {
    const { account } = await newAccount()
    const before = await eventsOf(account.id)
    const again = app.operations.accounts.create({ email, creditNanos: 5n })
    await expect(again).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await eventsOf(account.id)).toEqual(before)
    const { account: poor } = await app.operations.accounts.create({ email: 'poor@example.com' })
    expect(await eventsOf(poor.id)).toMatchObject([{ kind: 'API_KEY_CREATED' }])
  })

  it('cannot start with negative credit or with more than the maximum', async () => {
    const create = (creditNanos: bigint) => app.operations.accounts.create({ email: 'rich@example.com', creditNanos })
    const most = 999_999_999_000_000_000n
    await expect(create(most + 1n)).rejects.toThrow('credit: would give the account more than $999999999.')
    await expect(create(-1n)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    expect((await create(most)).account.postedNanos).toBe(most)
  })
})

describe('the email address of an account', () => {
  const create = async (address: string) => (await app.operations.accounts.create({ email: address })).account.email
  const addressOf = (length: number) => 'long@example.com'.padStart(length, 'x')

  it('has at most 254 characters, and is kept in lower case and without blanks around it', async () => {
    expect(await create(` ${addressOf(254).toUpperCase()} `)).toBe(addressOf(254))
    await expect(create(addressOf(255))).rejects.toThrow('email: has more than 254 characters.')
  })

  it.each(['nobody', 'no body@example.com', 'nobody@', 'x'.repeat(254)])('cannot be "%s"', async address => {
    await expect(create(address)).rejects.toThrow(`email: "${address}" is not an email address.`)
  })
})

describe('credit that is granted', () => {
  it('is added to the balance, and is recorded in the history', async () => {
    const { account, apiKey } = await newAccount()
    expect(await grant(2_500_000_001n, { reason: 'welcome' })).toEqual({
      email,
      beforeNanos: 1_000_000_000n,
      afterNanos: 3_500_000_001n,
      replayed: false,
    })
    expect(await creditOf(apiKey)).toBe(3.500000001)
    const [before, after] = [{ creditNanos: '1000000000' }, { creditNanos: '3500000001' }]
    expect(await grantsOf(account.id)).toEqual([
      { kind: 'CREDIT_GRANTED', before, after, reason: null, note: 'welcome', api_key_id: null },
    ])
  })

  it('adds up exactly when there are many grants at once', async () => {
    const { account, apiKey } = await newAccount()
    // As many as there are connections: on a busy computer, more would wait for one too long.
    const amounts = Array.from({ length: 10 }, (_, index) => BigInt(index + 1))
    const operations = [app.operations, other.operations]
    await Promise.all(
      amounts.map((amountNanos, index) => operations[index % 2]?.accounts.grantCredit(email, { amountNanos })),
    )
    expect(await creditOf(apiKey)).toBe(1.000000055)
    const events = await grantsOf(account.id)
    expect(events).toHaveLength(10)
    // Each grant began at the balance that the previous grant left.
    expect(events.slice(1).map(({ before }) => before)).toEqual(events.slice(0, -1).map(({ after }) => after))
  })

  it('is granted once per idempotency key for the life of the account', async () => {
    const { account, apiKey } = await newAccount()
    const once = { amountNanos: 5n, idempotencyKey: 'ticket 7' }
    const gateways = [app.operations, other.operations, app.operations, other.operations]
    const granted = await Promise.all(gateways.map(gateway => gateway.accounts.grantCredit(email, once)))
    expect(granted.filter(({ replayed }) => !replayed)).toHaveLength(1)
    await grant(7n)
    app.clock.advance(100 * 86_400_000)
    expect(await grant(5n, { idempotencyKey: 'ticket 7' })).toEqual({
      email,
      beforeNanos: 1_000_000_000n,
      afterNanos: 1_000_000_005n,
      replayed: true,
    })
    expect(await grantsOf(account.id)).toHaveLength(2)
    expect(await creditOf(apiKey)).toBe(1.000000012)
    await expect(grant(6n, { idempotencyKey: 'ticket 7' })).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
    // The database itself refuses a second entry with the same key.
    const copied = 'account_id, kind, amount_nanos, idempotency_key, posted_at'
    const copy = `INSERT INTO ledger_entries (${copied}) SELECT ${copied} FROM ledger_entries`
    await expect(app.sql(`${copy} WHERE account_id = ${account.id} AND idempotency_key IS NOT NULL`)).rejects.toThrow(
      'ledger_entries_account_id_idempotency_key_key',
    )
    await newAccount()
    expect(await grant(5n, { idempotencyKey: 'ticket 7' })).toMatchObject({ replayed: false })
  })

  it('must be above 0, and must not raise the balance above the maximum', async () => {
    const { account, apiKey } = await newAccount()
    const most = 999_999_999_000_000_000n
    await expect(grant(0n)).rejects.toThrow('amount: must be above 0.')
    await expect(grant(-1n, { reason: 'x'.repeat(257), idempotencyKey: '' })).rejects.toThrow(
      'amount: must be above 0. reason: must have at most 256 characters, not 257. idempotencyKey: must not be empty.',
    )
    await expect(grant(most - 999_999_999n)).rejects.toThrow('amount: would give the account more than $999999999.')
    expect(await grantsOf(account.id)).toEqual([])
    await grant(most - 1_000_000_000n)
    expect(await creditOf(apiKey)).toBe(999_999_999)
    await expect(app.operations.accounts.grantCredit('nobody@example.com', { amountNanos: 1n })).rejects.toThrow(
      'There is no account with the email address nobody@example.com.',
    )
  })
})

describe('credit that is adjusted', () => {
  const adjust = (amountNanos: bigint, more: { idempotencyKey?: string; reason?: string } = {}) =>
    app.operations.accounts.adjustCredit(email, { amountNanos, reason: 'a mistake', ...more })

  it('is added or deducted, even below zero, and the ledger and the history show the reason', async () => {
    const { account, apiKey } = await newAccount()
    const [beforeNanos, afterNanos] = [1_000_000_000n, -500_000_001n]
    expect(await adjust(-1_500_000_001n)).toEqual({ email, beforeNanos, afterNanos, replayed: false })
    expect(await creditOf(apiKey)).toBe(-0.500000001)
    expect(await adjust(3n)).toMatchObject({ afterNanos: -499_999_998n })
    expect(await grantsOf(account.id)).toMatchObject([
      { before: { creditNanos: '1000000000' }, after: { creditNanos: '-500000001' }, note: 'a mistake' },
      { before: { creditNanos: '-500000001' }, after: { creditNanos: '-499999998' }, note: 'a mistake' },
    ])
    const lines = await app.operations.accounts.ledgerPage(account.id, 0, 10)
    expect(
      lines.map(({ kind, amountNanos, balanceAfterNanos, reason }) => [kind, amountNanos, balanceAfterNanos, reason]),
    ).toEqual([
      ['top_up', 1_000_000_000n, 1_000_000_000n, null],
      ['adjustment', -1_500_000_001n, -500_000_001n, 'a mistake'],
      ['adjustment', 3n, -499_999_998n, 'a mistake'],
    ])
    const [, second] = lines
    expect(await app.operations.accounts.ledgerPage(account.id, lines[0]?.id as number, 1)).toEqual([second])
  })

  it('is adjusted once per idempotency key, which no grant may share', async () => {
    await newAccount()
    const first = await adjust(-5n, { idempotencyKey: 'ticket 8' })
    expect(await adjust(-5n, { idempotencyKey: 'ticket 8' })).toEqual({ ...first, replayed: true })
    await expect(adjust(-6n, { idempotencyKey: 'ticket 8' })).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
    await adjust(5n, { idempotencyKey: 'ticket 9' })
    await expect(grant(5n, { idempotencyKey: 'ticket 9' })).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
  })

  it('needs an amount other than 0, a reason, and a balance within the maximum', async () => {
    const { account, apiKey } = await newAccount()
    await expect(adjust(0n, { reason: '' })).rejects.toThrow('amount: must not be 0. reason: must not be empty.')
    const most = 999_999_999_000_000_000n
    await expect(adjust(most)).rejects.toThrow('amount: would give the account more than $999999999.')
    await expect(adjust(-most - 1_000_000_001n)).rejects.toThrow(
      'amount: would leave the account less than -$999999999.',
    )
    expect(await grantsOf(account.id)).toEqual([])
    await adjust(-most - 1_000_000_000n)
    expect(await creditOf(apiKey)).toBe(-999_999_999)
  })

  it('is deducted after the GPUs are charged up to that instant', async () => {
    const { apiKey, account } = await newAccount()
    const { rentToStatus } = rentalsOf(app)
    const id = await rentToStatus(apiKey, 'running')
    const [meter] = await app.sql(`SELECT since FROM meters WHERE instance_id = ${id} AND kind = 'gpu'`)
    const { since } = meter as { since: Date }
    const left = since.getTime() + 3_600_000 - app.clock.now().getTime()
    app.clock.advance(left)
    const [listed] = await app.operations.accounts.page(account.id - 1, 1)
    expect(listed).toMatchObject({ costPerHourNanos: 404_000_000n })
    await adjust(-1_000_000_000n)
    const [entry] = await app.sql(`SELECT amount_nanos FROM ledger_entries l JOIN meters m ON m.id = l.meter_id
      WHERE m.instance_id = ${id} AND l.kind = 'gpu' ORDER BY l.id LIMIT 1`)
    expect(entry).toEqual({ amount_nanos: '-400000000' })
    app.clock.advance(3_600_000)
    expect(await creditOf(apiKey)).toBeLessThan(-0.4)
    expect(await creditOf(apiKey)).toBeGreaterThan(-0.42)
  })
})

describe('the keys of an account', () => {
  it('are listed without their secrets, and are revoked by id or by name', async () => {
    const { account, apiKey } = await newAccount()
    const permissions = { api: { misc: {} } }
    const make = (name: string) => app.operations.accounts.createApiKey(email, { name, permissions })
    const [first, second, third] = [await make('laptop'), await make('laptop'), await make('phone')]
    const { apiKeys } = app.operations
    const accountId = account.id
    const listed = (filter = {}) => apiKeys.page({ accountId, ...filter }, 0, 100)
    const list = await listed()
    expect(list).toMatchObject([
      { name: 'default', permissions: null, revokedAt: null },
      ...[first, second].map(({ id }) => ({ id, name: 'laptop', permissions })),
      { id: third.id, name: 'phone' },
    ])
    const secrets = [apiKey, first.apiKey].map(key => key.split('_')[2] as string)
    expect(secrets.some(secret => JSON.stringify(list).includes(secret))).toBe(false)

    expect(await apiKeys.revoke({ email: ` ${email.toUpperCase()} `, name: 'laptop' })).toEqual([first.id, second.id])
    expect(await apiKeys.revoke({ email, name: 'laptop' })).toEqual([])
    expect(await apiKeys.revoke({ email: 'account-1@example.com', id: third.id })).toEqual([])
    const statuses = async () =>
      await Promise.all(
        [first, second, third].map(async ({ apiKey: key }) => (await app.rest(key, 'POST', '/bundles/', {})).status),
      )
    expect(await statuses()).toEqual([401, 401, 200])
    expect(await apiKeys.revoke({ id: third.id })).toEqual([third.id])
    expect(await statuses()).toEqual([401, 401, 401])
    const made = (await eventsOf(account.id)).filter(event => (event as { kind: string }).kind === 'API_KEY_CREATED')
    const after = { apiKeyId: second.id, name: 'laptop', permissions, expiresAt: null }
    expect([made.length, made[2]]).toMatchObject([4, { after, api_key_id: null }])
    const revoked = (await eventsOf(account.id)).filter(event => (event as { kind: string }).kind === 'API_KEY_DELETED')
    expect(revoked).toMatchObject([
      { before: { apiKeyId: first.id, name: 'laptop' } },
      { before: { apiKeyId: second.id, name: 'laptop' } },
      { before: { apiKeyId: third.id, name: 'phone' } },
    ])
    expect((await listed()).filter(key => key.revokedAt).length).toBe(3)
    expect(await listed({ active: true })).toMatchObject([{ account: email, name: 'default' }])
  })
})

it('the keys of all accounts are listed in pages, by their use, their permissions and whether they work', async () => {
  const { account, apiKey } = await newAccount()
  const ownEmail = email
  const { accounts: operations, apiKeys } = app.operations
  const scoped = await operations.createApiKey(email, { permissions: { api: { misc: {} } }, name: 'scoped' })
  const expiresAt = new Date(app.clock.now().getTime() + 1_000)
  await operations.createApiKey(email, { permissions: null, name: 'expired', expiresAt })
  app.clock.advance(3_600_000)
  const unusedSince = app.clock.now()
  await app.rest(apiKey, 'GET', '/users/current/')
  await operations.createApiKey(email, { permissions: null, name: 'young' })
  await newAccount()
  const names = async (filter: Parameters<typeof apiKeys.page>[0]) =>
    (await apiKeys.page({ accountId: account.id, ...filter }, 0, 100)).map(({ name }) => name)
  expect(await names({})).toEqual(['default', 'scoped', 'expired', 'young'])
  expect(await names({ unusedSince })).toEqual(['scoped', 'expired'])
  expect(await names({ unusedSince, active: true })).toEqual(['scoped'])
  expect(await names({ scoped: true })).toEqual(['scoped'])
  app.clock.advance(1)
  expect(await names({ unusedSince: app.clock.now() })).toEqual(['default', 'scoped', 'expired', 'young'])
  const [first, second, ...others] = await apiKeys.page({}, scoped.id - 1, 2)
  expect([first, others]).toMatchObject([{ id: scoped.id, account: ownEmail }, []])
  expect(await apiKeys.page({ active: true }, second?.id as number, 9)).toMatchObject([
    { account: ownEmail, name: 'young' },
    { account: email, name: 'default' },
  ])
})

it('the list of accounts has pages, and counts active keys and instances that are not destroyed', async () => {
  const { account } = await newAccount()
  const { accounts: operations, apiKeys } = app.operations
  await operations.createApiKey(email, { permissions: null, expiresAt: new Date(app.clock.now().getTime() + 1) })
  app.clock.advance(1)
  await operations.createApiKey(email, { permissions: null, name: 'old' })
  await operations.createApiKey(email, { permissions: null, name: 'new' })
  await apiKeys.revoke({ email, name: 'old' })
  const [row] = await operations.page(account.id - 1, 5)
  expect(row).toMatchObject({
    id: account.id,
    email,
    creditNanos: 1_000_000_000n,
    costPerHourNanos: 0n,
    keys: 2,
    instances: 0,
  })
  const all = (await app.sql('SELECT id FROM accounts ORDER BY id')).map(row => (row as { id: number }).id)
  expect((await operations.page(0, 2)).map(({ id }) => id)).toEqual(all.slice(0, 2))
  expect((await operations.page(all[0] as number, 2)).map(({ id }) => id)).toEqual(all.slice(1, 3))
})
