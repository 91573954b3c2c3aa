// Spend limits: which keys set them, which requests they refuse, and which rows a refusal keeps unchanged.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { limitsOf } from '../../support/billing/limits.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { facesOf } from '../../support/faces/faces.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

let app: TestApp
let rentals: Rentals
let limits: ReturnType<typeof limitsOf>
let volumes: ReturnType<typeof volumesOf>
/** A key without a limit, and another key of the same account. */
let owner: string
let worker: string
let workerId: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  limits = limitsOf(app)
  volumes = volumesOf(app)
})

afterAll(() => app.close())

beforeEach(async () => {
  owner = await app.newKey(null, someCredit)
  worker = await app.newScopedKey(owner, { api: { instance_read: {}, instance_write: {}, misc: {} } })
  workerId = `key_${(await limits.accountOf(worker)).apiKeyId}`
})

/** All rows of the account that a command could change. */
async function readAccountState() {
  const { accountId } = await limits.accountOf(owner)
  return await app.sql(`SELECT to_jsonb(a) - 'billing_due_at' AS account,
    (SELECT json_agg(to_jsonb(i) ORDER BY id) FROM instances i WHERE account_id = a.id) AS instances,
    (SELECT json_agg(to_jsonb(v) ORDER BY id) FROM volumes v WHERE account_id = a.id) AS volumes,
    (SELECT json_agg(to_jsonb(m) ORDER BY id) FROM meters m WHERE account_id = a.id) AS meters,
    (SELECT json_agg(to_jsonb(l) ORDER BY id) FROM spend_limits l WHERE account_id = a.id) AS limits,
    (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM ledger_entries) AS entries,
    (SELECT json_agg(to_jsonb(o) ORDER BY id) FROM offers o WHERE withdrawn_at IS NULL) AS offers
    FROM accounts a WHERE id = ${accountId}`)
}

const eventsOf = async (kind: string) => {
  const { accountId } = await limits.accountOf(owner)
  return (await app.sql(`SELECT before, after, api_key_id FROM events
    WHERE account_id = ${accountId} AND kind = '${kind}' ORDER BY id`)) as Record<string, unknown>[]
}

const hourly = { window: 'HOUR', amount: '1' }
const rent = (key: string, body: object = {}) => rentals.tryRent(key, { image: 'ubuntu', ...body })
/** GPUs cost $0.4 an hour, and the disk $0.004. */
const limitExceeded = {
  status: 400,
  body: {
    success: false,
    error: 'spend_limit_exceeded',
    msg: 'The spend limit of the account is $1 an hour: $0.808 is in use and this request adds $0.404. Stop or destroy something first, or raise the limit.',
  },
}

describe('a spend limit', () => {
  it('is set, changed, read and deleted with an event for each change', async () => {
    const made = await limits.set(owner, hourly)
    const id = expect.stringMatching(/^lim_\d+$/)
    const accountId = `acc_${(await limits.accountOf(owner)).accountId}`
    const none = { subjectId: accountId, reachedAt: null, used: '0' }
    expect(made).toEqual({ id, ...none, window: 'HOUR', amount: '1', action: 'BLOCK_NEW' })
    const changed = await limits.set(owner, { ...hourly, amount: '2.5', action: 'NOTIFY' })
    expect(changed).toEqual({ ...made, amount: '2.5', action: 'NOTIFY' })
    // Setting the same limit again changes nothing.
    await limits.set(owner, { ...hourly, amount: '2.5', action: 'NOTIFY' })
    await limits.set(owner, { apiKeyId: workerId, window: 'DAY', amount: '3' })
    const { account, keys } = await limits.read(owner)
    expect(account).toEqual([changed])
    const ofWorker = { subjectId: workerId, window: 'DAY', amount: '3', action: 'BLOCK_NEW' }
    expect(keys.find((key: { id: string }) => key.id === workerId).spendLimits).toEqual([{ id, ...none, ...ofWorker }])
    const { data } = await app.graphql(owner, `{ node(id: "${made.id}") { ... on SpendLimit { amount } } }`)
    expect(data.node).toEqual({ amount: '2.5' })
    expect(await limits.remove(owner, made.id)).toBe(made.id)
    expect(await limits.remove(owner, made.id)).toMatchObject({ code: 'NOT_FOUND' })
    expect((await limits.read(owner)).account).toEqual([])
    const facts = { spendLimitId: expect.any(Number), apiKeyId: null, window: 'hour' }
    const [one, other] = [
      { ...facts, amountNanos: '1000000000', action: 'block_new' },
      { ...facts, amountNanos: '2500000000', action: 'notify' },
    ]
    expect(await eventsOf('SPEND_LIMIT_CREATED')).toMatchObject([
      { before: null, after: one },
      { before: null, after: { amountNanos: '3000000000', window: 'day' } },
    ])
    expect(await eventsOf('SPEND_LIMIT_UPDATED')).toMatchObject([{ before: one, after: other }])
    expect(await eventsOf('SPEND_LIMIT_DELETED')).toMatchObject([{ before: other, after: null }])
    const recorded = await app.graphql(
      owner,
      `{ events(first: 50, filter: { kinds: [SPEND_LIMIT_UPDATED] }) { nodes { message changes { field before after } } } }`,
    )
    expect(recorded.data.events.nodes[0]).toMatchObject({
      message: 'Spend limit changed.',
      changes: expect.arrayContaining([
        { field: 'amount', before: '1', after: '2.5' },
        { field: 'action', before: 'BLOCK_NEW', after: 'NOTIFY' },
      ]),
    })
  })

  it('needs a valid amount and a key of the account', async () => {
    const refused = async (input: object) => (await limits.set(owner, { window: 'DAY', ...input })).code
    expect(await refused({ amount: '-0.000000001' })).toBe('INVALID_INPUT')
    expect(await refused({ amount: '999999999.1' })).toBe('INVALID_INPUT')
    expect(await refused({ amount: '1', apiKeyId: 'key_987654321' })).toBe('NOT_FOUND')
    const stranger = await limits.accountOf(await app.newKey())
    expect(await refused({ amount: '1', apiKeyId: `key_${stranger.apiKeyId}` })).toBe('NOT_FOUND')
    expect(await refused({ amount: '1', apiKeyId: 'ins_1' })).toBe('INVALID_INPUT')
    expect((await limits.read(owner)).account).toEqual([])
  })

  it('is not created a second time, and the refusal names the one that exists', async () => {
    const { id } = await limits.create(owner, hourly)
    const ofWorker = await limits.create(owner, { ...hourly, apiKeyId: workerId })
    const before = await readAccountState()
    const number = (limit: { id: string }) => limit.id.slice('lim_'.length)
    expect(await limits.create(owner, { ...hourly, amount: '2' })).toEqual({
      code: 'CONFLICT',
      id,
      message: `Spend limit lim_${number({ id })} already limits the account per hour. Update that limit instead.`,
    })
    expect(await limits.create(owner, { ...hourly, apiKeyId: workerId })).toEqual({
      code: 'CONFLICT',
      id: ofWorker.id,
      message: `Spend limit lim_${number(ofWorker)} already limits API key ${workerId} per hour. Update that limit instead.`,
    })
    expect(await readAccountState()).toEqual(before)
    expect(await limits.create(owner, { ...hourly, window: 'DAY' })).toMatchObject({ window: 'DAY' })
  })

  it('keeps what an update leaves out, and refuses null, an unknown limit and an invalid amount', async () => {
    const stranger = await app.newKey()
    const made = await limits.create(owner, { ...hourly, action: 'NOTIFY' })
    expect(await limits.update(owner, { id: made.id, amount: '7' })).toEqual({ ...made, amount: '7' })
    expect(await limits.update(owner, { id: made.id, action: 'STOP_RUNNING' })).toEqual({
      ...{ ...made, amount: '7', action: 'STOP_RUNNING' },
    })
    const before = await readAccountState()
    expect(await limits.update(owner, { id: made.id })).toEqual({ ...made, amount: '7', action: 'STOP_RUNNING' })
    const message = 'cannot be removed. Leave it out to keep it.'
    expect(await limits.update(owner, { id: made.id, amount: null, action: null })).toMatchObject({
      code: 'INVALID_INPUT',
      issues: [
        { path: 'amount', message },
        { path: 'action', message },
      ],
    })
    const refusals = [
      { id: made.id, amount: '-1' },
      { id: 'key_1', amount: '1' },
      { id: 'lim_987654321', amount: '1' },
      { id: 'lim_999999999999999999', amount: '1' },
    ]
    const codes = await Promise.all(refusals.map(async input => (await limits.update(owner, input)).code))
    expect(codes).toEqual(['INVALID_INPUT', 'INVALID_INPUT', 'NOT_FOUND', 'NOT_FOUND'])
    expect(await limits.update(stranger, { id: made.id, amount: '1' })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await readAccountState()).toEqual(before)
  })

  it('says when it was created and last changed', async () => {
    const times = async (id: string) =>
      (await app.graphql(owner, `{ node(id: "${id}") { ... on SpendLimit { createdAt updatedAt } } }`)).data.node
    const { id } = await limits.create(owner, hourly)
    const { createdAt } = await times(id)
    expect(await times(id)).toEqual({ createdAt, updatedAt: createdAt })
    app.clock.advance(5_000)
    await limits.update(owner, { id, amount: '3' })
    const { updatedAt } = await times(id)
    app.clock.advance(5_000)
    await limits.update(owner, { id, amount: '3' })
    expect(await times(id)).toEqual({ createdAt, updatedAt })
    expect(Date.parse(updatedAt)).toBeGreaterThanOrEqual(Date.parse(createdAt) + 5_000)
  })

  it('shows the account or the key that it applies to, until that key is revoked', async () => {
    const ofAccount = await limits.create(owner, hourly)
    const ofWorker = await limits.create(owner, { ...hourly, apiKeyId: workerId })
    const subjects = async (key: string) =>
      await app.graphql(
        key,
        `{ nodes(ids: ["${ofAccount.id}", "${ofWorker.id}"]) { ... on SpendLimit {
          subjectId subject { __typename id ... on Account { email } ... on ApiKey { name } } } } }`,
      )
    const { accountId } = await limits.accountOf(owner)
    expect((await subjects(owner)).data.nodes).toEqual([
      {
        subjectId: `acc_${accountId}`,
        subject: { __typename: 'Account', id: `acc_${accountId}`, email: expect.any(String) },
      },
      { subjectId: workerId, subject: { __typename: 'ApiKey', id: workerId, name: expect.any(String) } },
    ])
    // Without `user_read` the ids are shown, and each subject is refused alone.
    const { data, errors } = await subjects(await app.newScopedKey(owner, { api: { billing_read: {} } }))
    expect(data.nodes).toEqual([
      { subjectId: `acc_${accountId}`, subject: null },
      { subjectId: workerId, subject: null },
    ])
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }, { extensions: { code: 'FORBIDDEN' } }])
    await app.graphql(owner, `mutation { deleteApiKey(input: { id: "${workerId}" }) { __typename } }`)
    expect((await subjects(owner)).data.nodes[1]).toEqual({ subjectId: workerId, subject: null })
  })

  it('stays the same when its amount, its subject or its id is missing', async () => {
    await limits.set(owner, hourly)
    await limits.set(owner, { ...hourly, apiKeyId: workerId })
    const before = await readAccountState()
    const forgotten = [
      'mutation ($amount: Usd) { createSpendLimit(input: {subject: {account: true}, window: HOUR, amount: $amount}) { __typename } }',
      'mutation { createSpendLimit(input: {subject: {account: true}, window: HOUR}) { __typename } }',
      'mutation { createSpendLimit(input: {subject: {account: true}, window: HOUR, amount: null}) { __typename } }',
      'mutation ($key: ID) { createSpendLimit(input: {subject: {apiKeyId: $key}, window: HOUR, amount: "9"}) { __typename } }',
      'mutation { createSpendLimit(input: {subject: {}, window: HOUR, amount: "9"}) { __typename } }',
      'mutation { createSpendLimit(input: {window: HOUR, amount: "9"}) { __typename } }',
      'mutation { updateSpendLimit(input: {amount: "9"}) { __typename } }',
      'mutation ($id: ID) { updateSpendLimit(input: {id: $id, amount: "9"}) { __typename } }',
      'mutation { deleteSpendLimit(input: {}) { __typename } }',
      'mutation ($id: ID) { deleteSpendLimit(input: {id: $id}) { __typename } }',
    ]
    for (const query of forgotten) expect([query, (await app.graphql(owner, query)).errors?.length]).toEqual([query, 1])
    const { code } = await limits.set(owner, { subject: { account: false }, window: 'HOUR', amount: '9' })
    expect([code, await readAccountState()]).toEqual(['INVALID_INPUT', before])
  })

  it('can be deleted after its key was revoked', async () => {
    const { id } = await limits.set(owner, { ...hourly, apiKeyId: workerId })
    await app.graphql(owner, `mutation { deleteApiKey(input: { id: "${workerId}" }) { __typename } }`)
    expect(await limits.remove(owner, id)).toBe(id)
    expect(await app.sql(`SELECT FROM spend_limits WHERE api_key_id = ${workerId.slice(4)}`)).toEqual([])
  })
})

describe('an API key', () => {
  const all = { billing_read: {}, billing_write: {}, user_read: {}, user_write: {} }

  it('sets no limit without billing_write and reads none without billing_read', async () => {
    const reader = await app.newScopedKey(owner, { api: { ...all, billing_write: undefined as never } })
    const writer = await app.newScopedKey(owner, { api: { ...all, billing_read: undefined as never } })
    const [made] = [await limits.set(owner, hourly)]
    const node = `{ node(id: "${made.id}") { id } }`
    expect(await limits.set(reader, hourly)).toBe('FORBIDDEN')
    expect((await app.graphql(reader, node)).data.node).toEqual({ id: made.id })
    expect(await limits.update(reader, { id: made.id, amount: '2' })).toBe('FORBIDDEN')
    expect(await limits.remove(reader, made.id)).toBe('FORBIDDEN')
    expect(await limits.remove(await app.newKey(), made.id)).toMatchObject({ code: 'NOT_FOUND' })
    expect((await app.graphql(writer, node)).errors?.[0]?.extensions).toMatchObject({ missing: ['SPEND_LIMITS'] })
    expect((await app.graphql(await app.newKey(), node)).data.node).toBe(null)
  })

  it('sets no limit for itself, so that one key without a limit always remains', async () => {
    const { apiKeyId } = await limits.accountOf(owner)
    expect(await limits.set(owner, { ...hourly, apiKeyId: `key_${apiKeyId}` })).toBe('FORBIDDEN')
    expect(await app.sql(`SELECT FROM spend_limits WHERE api_key_id = ${apiKeyId}`)).toEqual([])
  })

  it.each(['itself', 'the account', 'another key'])('with a limit cannot change the limit of %s', async whose => {
    const limited = await app.newScopedKey(owner, { api: all })
    const ownId = `key_${(await limits.accountOf(limited)).apiKeyId}`
    const apiKeyId: string | null | undefined = {
      itself: ownId,
      'the account': null,
      'another key': workerId,
    }[whose]
    const { id } = await limits.set(owner, { ...hourly, apiKeyId })
    // The window of this limit need not be the window that the key tries to change.
    await limits.set(owner, { window: 'MONTH', amount: '50', action: 'NOTIFY', apiKeyId: ownId })
    const before = await readAccountState()
    for (const amount of ['0.5', '2']) {
      expect(await limits.set(limited, { window: 'HOUR', amount, apiKeyId })).toBe('FORBIDDEN')
    }
    expect(await limits.update(limited, { id, amount: '2' })).toBe('FORBIDDEN')
    expect(await limits.remove(limited, id)).toBe('FORBIDDEN')
    expect(await readAccountState()).toEqual(before)
  })

  it('with a limit creates and resets no other key, but resets itself', async () => {
    const limited = await app.newScopedKey(owner, { api: all })
    const ownId = `key_${(await limits.accountOf(limited)).apiKeyId}`
    const narrow = `key_${(await limits.accountOf(await app.newScopedKey(owner, { api: { user_read: {} } }))).apiKeyId}`
    const create = 'mutation { createApiKey(input: { permissions: [] }) { ... on CreateApiKeySuccess { secret } } }'
    const reset = (id: string) =>
      `mutation { rotateApiKeySecret(input: { id: "${id}" }) { ... on RotateApiKeySecretSuccess { secret } } }`
    expect((await app.graphql(limited, create)).errors).toBeUndefined()
    await limits.set(owner, { ...hourly, apiKeyId: ownId })
    const codes = async (query: string) => (await app.graphql(limited, query)).errors?.[0]?.extensions['code']
    expect(await codes(create)).toBe('FORBIDDEN')
    expect(await codes(reset(narrow))).toBe('FORBIDDEN')
    expect((await app.graphql(limited, reset(ownId))).data.rotateApiKeySecret.secret).toMatch(/^berth_/)
  })
})

describe('an API key with a limit', () => {
  const starts = (ids: number[]) => ({ ids: ids.map(String), targetState: 'RUNNING' })
  const forbidden = {
    code: 'FORBIDDEN',
    message:
      'This API key has a spend limit, so it may start, and raise the bids of, only instances that it rented itself. For other instances, use the API keys that rented them.',
  }
  const limitWorker = () => limits.set(owner, { window: 'DAY', amount: '50', action: 'NOTIFY', apiKeyId: workerId })

  it('starts only instances that it rented, on both faces, and refuses mixed requests', async () => {
    const [own, foreign] = [await rentals.rentToStatus(worker, 'stopped'), await rentals.rentToStatus(owner, 'stopped')]
    await limitWorker()
    const faces = facesOf(app)
    const before = await readAccountState()
    const all = starts([own, foreign])
    expect(await faces.update(worker, all)).toEqual(forbidden)
    expect(await faces.update(worker, { ...all, dryRun: true })).toEqual(forbidden)
    const one = { id: String(foreign), targetState: 'RUNNING' }
    expect(await faces.update(worker, one)).toEqual(forbidden)
    const answer = { status: 403, body: { success: false, error: 'forbidden', msg: forbidden.message } }
    expect(await app.rest(worker, 'PUT', `/instances/${foreign}/`, { state: 'running' })).toMatchObject(answer)
    expect(await app.rest(worker, 'PUT', '/instances/', { ids: [own, foreign], state: 'running' })).toMatchObject(
      answer,
    )
    expect(await readAccountState()).toEqual(before)
    expect(await faces.update(worker, starts([own]))).toMatchObject({ succeededCount: 1 })
    // A key without a limit starts the foreign instance, even though another key of the account has a limit.
    expect(await faces.update(owner, all)).toMatchObject({ items: [{}, { outcome: 'APPLIED' }] })
    // A start of a running instance, a label and a stop add no costs.
    expect(await faces.update(worker, one)).not.toHaveProperty('code')
    expect(await faces.update(worker, { id: one.id, label: 'x' })).not.toHaveProperty('code')
    expect(await faces.update(worker, { ...one, targetState: 'STOPPED' })).not.toHaveProperty('code')
  })

  it('raises only bids of instances that it rented, and lowers any bid', async () => {
    const [own, foreign] = [await rent(worker, { price: 0.3 }), await rent(owner, { price: 0.3 })]
    const bid = async (key: string, { body }: typeof own, bidPerHour: string) => {
      const input = `{ id: ${body.new_contract}, bidPerHour: "${bidPerHour}" }`
      const { data, errors } = await app.graphql(
        key,
        `mutation { updateInstanceBid(input: ${input}) { __typename ... on Error { code message } } }`,
      )
      return errors ? { code: errors[0]?.extensions['code'], message: errors[0]?.message } : data.updateInstanceBid
    }
    await limitWorker()
    const before = await readAccountState()
    expect(await bid(worker, foreign, '5')).toEqual(forbidden)
    expect(await readAccountState()).toEqual(before)
    expect(await bid(worker, own, '0.31')).not.toHaveProperty('code')
    expect(await bid(worker, foreign, '0.29')).not.toHaveProperty('code')
    expect(await bid(owner, foreign, '0.35')).not.toHaveProperty('code')
    // A higher bid is refused for a stopped instance, too: its next start would pay it.
    await app.rest(worker, 'PUT', `/instances/${foreign.body.new_contract}/`, { state: 'stopped' })
    expect(await bid(worker, foreign, '0.4')).toEqual(forbidden)
  })
})

describe('reading limits', () => {
  const limitReads = async (key: string, query: string, variables = {}) => {
    const sent = await captureQueries(async () => {
      expect((await app.graphql(key, query, variables)).errors).toBeUndefined()
    })
    return sent.filter(text => text.includes('FROM "public"."spend_limits"'))
  }

  it('takes one statement, and of each limit only what is asked for', async () => {
    await limits.set(owner, hourly)
    await limits.set(owner, { ...hourly, apiKeyId: workerId })
    const { data } = await app.graphql(owner, '{ viewer { account { spendLimits { id } } } }')
    const { id } = data.viewer.account.spendLimits[0]
    const queries = [
      '{ viewer { account { spendLimits { id amount } } } }',
      '{ viewer { account { apiKeys { spendLimits { id amount } } } } }',
      `{ nodes(ids: ["${id}"]) { ... on SpendLimit { id amount } } }`,
    ]
    for (const query of queries) {
      const reads = await limitReads(owner, query)
      expect(reads, query).toHaveLength(1)
      expect(reads[0]).toContain('"amount_nanos"')
      expect(reads[0]).not.toMatch(/SELECT.*("action"|_at").* FROM/)
    }
    for (const fields of ['used', 'used reachedAt'])
      expect(await limitReads(owner, `{ viewer { account { spendLimits { ${fields} } } } }`)).toHaveLength(1)
  })

  it('takes none for the limit that an error shows', async () => {
    await limits.set(owner, { ...hourly, amount: '0.1' })
    const query = `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) {
      ... on SpendLimitExceededError { limit { window amount used action reachedAt createdAt subjectId } } } }`
    const input = { offerId: String(await rentals.newOffer()), spec: { source: { image: 'ubuntu' } } }
    expect(await limitReads(worker, query, { input })).toEqual([])
  })
})

describe('an hourly limit', () => {
  it('counts instances that run or load, and refuses another rental on both faces alike', async () => {
    await limits.set(owner, hourly)
    await rentals.rentToStatus(worker, 'running')
    await rentals.rent(worker)
    const offerId = await rentals.newOffer()
    const before = await readAccountState()
    expect(await app.rest(worker, 'PUT', `/asks/${offerId}/`, { image: 'ubuntu' })).toMatchObject(limitExceeded)
    const spec = { source: { image: 'ubuntu' } }
    const { data } = await app.graphql(
      worker,
      `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) { __typename ... on Error { code message retry }
        ... on SpendLimitExceededError { addedPerHour limit { window amount used action subjectId } } } }`,
      { input: { offerId: String(offerId), spec } },
    )
    expect(data.rentInstance).toEqual({
      ...{
        __typename: 'SpendLimitExceededError',
        code: 'SPEND_LIMIT_EXCEEDED',
        message: limitExceeded.body.msg,
        retry: 'AFTER_FIX',
      },
      addedPerHour: '0.404',
      limit: {
        window: 'HOUR',
        amount: '1',
        used: '0.808',
        action: 'BLOCK_NEW',
        subjectId: `acc_${(await limits.accountOf(owner)).accountId}`,
      },
    })
    expect(await readAccountState()).toEqual(before)
    // A rate equal to the amount is allowed.
    await limits.set(owner, { ...hourly, amount: '1.212' })
    expect(await app.rest(worker, 'PUT', `/asks/${offerId}/`, { image: 'ubuntu' })).toMatchObject({ status: 200 })
    expect((await limits.read(owner)).account).toMatchObject([{ used: '1.212', reachedAt: null }])
  })

  it('counts an instance that waits for its GPUs, and only the disk of a stopped instance', async () => {
    const terms = { image: 'ubuntu', price: 0.3 }
    const first = await rent(worker, terms)
    const id = first.body.new_contract
    const { machine_id } = await rentals.read(worker, id)
    const [offer] = (await app.sql(
      `SELECT id FROM offers WHERE machine_id = ${machine_id} AND withdrawn_at IS NULL`,
    )) as {
      id: string
    }[]
    const rival = await app.newKey(null, someCredit)
    await app.rest(rival, 'PUT', `/asks/${offer?.id}/`, { image: 'ubuntu', price: 0.9 })
    await rentals.converge()
    expect(await app.sql(`SELECT FROM gpus WHERE holder_id = ${id}`)).toEqual([])
    await limits.set(owner, { ...hourly, amount: '0.5' })
    expect((await limits.read(owner)).account[0].used).toBe('0.304')
    expect(await rent(worker)).toMatchObject({ status: 400, body: { error: 'spend_limit_exceeded' } })
    await app.rest(worker, 'PUT', `/instances/${id}/`, { state: 'stopped' })
    expect((await limits.read(owner)).account[0].used).toBe('0.004')
    expect(await rent(worker)).toMatchObject({ status: 200 })
  })

  it('counts the rentals of its key, even when another key starts them', async () => {
    await limits.set(owner, { ...hourly, amount: '0.5', apiKeyId: workerId })
    const id = await rentals.rentToStatus(worker, 'stopped')
    const running = await rentals.rent(worker, { target_state: 'stopped' })
    expect(await rent(worker)).toMatchObject({ status: 200 })
    const start = (key: string) => app.rest(key, 'PUT', `/instances/${id}/`, { state: 'running' })
    const msg = `The spend limit of API key ${workerId.slice(4)} is $0.5 an hour: $0.412 is in use and this request adds $0.4. Stop or destroy something first, or raise the limit.`
    expect(await start(worker)).toMatchObject({ status: 400, body: { error: 'spend_limit_exceeded', msg } })
    expect((await start(owner)).body).toMatchObject({ error: 'spend_limit_exceeded', msg })
    // Rentals of other keys do not count for the limit of this key.
    expect(await rent(owner)).toMatchObject({ status: 200 })
    expect(await rentals.read(worker, running)).toMatchObject({ intended_status: 'stopped' })
  })

  it('refuses a whole bulk start and its dry run, and allows stops and labels', async () => {
    const ids = [await rentals.rentToStatus(worker, 'stopped'), await rentals.rentToStatus(worker, 'stopped')]
    await limits.set(owner, { ...hourly, amount: '0.5' })
    const faces = facesOf(app)
    const before = await readAccountState()
    const input = { ids: ids.map(String), targetState: 'RUNNING' }
    expect(await faces.update(worker, input)).toMatchObject({ code: 'SPEND_LIMIT_EXCEEDED' })
    const dry = await faces.update(worker, { ...input, dryRun: true })
    expect(dry).toMatchObject({ code: 'SPEND_LIMIT_EXCEEDED' })
    expect(await app.rest(worker, 'PUT', '/instances/', { ids, state: 'running' })).toMatchObject({
      status: 400,
      body: { error: 'spend_limit_exceeded', msg: dry.message },
    })
    expect(await readAccountState()).toEqual(before)
    const one = { ids: [String(ids[0])], targetState: 'RUNNING' }
    expect(await faces.update(worker, { ...one, dryRun: true })).toMatchObject({ succeededCount: 1 })
    expect(await faces.update(worker, one)).toMatchObject({ succeededCount: 1 })
    // A repeated start adds no costs, and neither does a label or a stop.
    await limits.set(owner, { ...hourly, amount: '0' })
    expect(await faces.update(worker, one)).toMatchObject({ items: [{ outcome: 'UNCHANGED' }] })
    expect(await faces.update(worker, { id: one.ids[0], label: 'x' })).not.toHaveProperty('code')
    expect(await faces.update(worker, { id: one.ids[0], targetState: 'STOPPED' })).not.toHaveProperty('code')
  })

  it('refuses a higher bid of a running instance and allows a lower bid', async () => {
    const rented = await rent(worker, { price: 0.3 })
    const id = rented.body.new_contract
    await limits.set(owner, { ...hourly, amount: '0.35' })
    const bid = async (bidPerHour: string) => {
      const query = `mutation { updateInstanceBid(input: { id: ${id}, bidPerHour: "${bidPerHour}" }) { ... on Error { code message } } }`
      return (await app.graphql(worker, query)).data.updateInstanceBid
    }
    const before = await readAccountState()
    expect(await bid('0.36')).toEqual({
      code: 'SPEND_LIMIT_EXCEEDED',
      message:
        'The spend limit of the account is $0.35 an hour: $0.304 is in use and this request adds $0.06. Stop or destroy something first, or raise the limit.',
    })
    expect(await readAccountState()).toEqual(before)
    expect(await bid('0.34')).toEqual({})
    await limits.set(owner, { ...hourly, amount: '0' })
    expect(await bid('0.25')).toEqual({})
    expect(await bid('0.26')).toMatchObject({ code: 'SPEND_LIMIT_EXCEEDED' })
    await app.rest(worker, 'PUT', `/instances/${id}/`, { state: 'stopped' })
    // The higher bid of a stopped instance costs nothing yet, but its start is refused.
    expect(await bid('5')).toEqual({})
    expect(await app.rest(worker, 'PUT', `/instances/${id}/`, { state: 'running' })).toMatchObject({ status: 400 })
  })

  it('refuses a volume, alone or with a rental, by the cost of its disk', async () => {
    await limits.set(owner, { ...hourly, amount: '0.006' })
    // 10 GB at $0.36 per GB per month.
    const vof = await volumes.newMachine()
    expect(await volumes.create(worker, { offerId: vof, sizeGb: 10 })).not.toHaveProperty('code')
    const before = await readAccountState()
    expect(await volumes.create(worker, { offerId: vof, sizeGb: 10 })).toMatchObject({ code: 'SPEND_LIMIT_EXCEEDED' })
    expect(await readAccountState()).toEqual(before)
    await limits.set(owner, { ...hourly, amount: '0.01' })
    const stopped = { target_state: 'stopped' }
    expect(await rent(worker, { ...stopped, disk: 11 })).toMatchObject({ body: { error: 'spend_limit_exceeded' } })
    expect(await rent(worker, { ...stopped, disk: 10 })).toMatchObject({ status: 200 })
  })

  it('is a blocker of a quote', async () => {
    await limits.set(owner, { ...hourly, amount: '0.4' })
    const offerId = await rentals.newOffer()
    const quote = async (spec: object) => {
      const query = `query ($input: RentInstanceInput!) { rentQuote(input: $input) { rentable
        blockers { code ... on SpendLimitExceededError { addedPerHour limit { used } } } } }`
      const input = { offerId: String(offerId), spec: { source: { image: 'ubuntu' }, ...spec } }
      return (await app.graphql(owner, query, { input })).data.rentQuote
    }
    const blocker = { code: 'SPEND_LIMIT_EXCEEDED', addedPerHour: '0.404', limit: { used: '0' } }
    expect(await quote({})).toEqual({ rentable: false, blockers: [blocker] })
    expect(await quote({ targetState: 'STOPPED' })).toEqual({ rentable: true, blockers: [] })
  })

  it('refuses a rental of the best offer with SPEND_LIMIT_EXCEEDED', async () => {
    await limits.set(owner, { ...hourly, amount: '0.4' })
    await rentals.newOffer()
    const { data } = await app.graphql(
      owner,
      `mutation { rentBestOffer(input: { filter: {}, terms: { onDemand: { maxPricePerHour: "1" } }, spec: { source: { image: "ubuntu" } } }) {
        ... on Error { code } } }`,
    )
    expect(data.rentBestOffer).toEqual({ code: 'SPEND_LIMIT_EXCEEDED' })
  })

  it('refuses nothing and is recorded once when it only notifies', async () => {
    await limits.set(owner, { ...hourly, amount: '0', action: 'NOTIFY' })
    expect(await rent(worker)).toMatchObject({ status: 200 })
    const { accountId } = await limits.accountOf(owner)
    await limits.enforce(accountId)
    await limits.enforce(accountId)
    expect(await eventsOf('ACCOUNT_SPEND_LIMIT')).toMatchObject([
      { after: { window: 'hour', usedNanos: '404000000', amountNanos: '0', action: 'notify' }, api_key_id: null },
    ])
  })
})
