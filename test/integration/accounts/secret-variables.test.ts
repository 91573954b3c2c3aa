// Secret variables: every new rental of the account gets them, and no answer shows their values.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EnvVar, restoreSecrets } from '../../../src/domain/launch/env.ts'
import { createSecrets, openJson } from '../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { waitForLockWaiters, withSession } from '../../support/database/sessions.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { templatesOf } from '../../support/templates/templates.ts'

let app: TestApp
let rentals: Rentals

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
})

afterAll(() => app.close())

const newKey = () => app.newKey(null, someCredit)
const post = (key: string, body: object) => app.rest(key, 'POST', '/secrets/', body)
const secretsOf = async (key: string) => (await app.rest(key, 'GET', '/secrets')).body.secrets
const setMutation = `mutation ($variables: [SecretVariableInput!]!) { updateSecretVariables(input: { variables: $variables }) {
  __typename ... on Error { code message } ... on InvalidInputError { issues { path } }
  ... on UpdateSecretVariablesSuccess { variables { name createdAt updatedAt } } } }`
const set = async (key: string, variables: object[]) =>
  (await app.graphql(key, setMutation, { variables })).data.updateSecretVariables
const remove = async (key: string, ...names: string[]) => {
  const query = `mutation ($names: [String!]!) { deleteSecretVariables(input: { names: $names }) {
    __typename ... on Error { code message } ... on NotFoundError { id names } ... on InvalidInputError { issues { path } }
    ... on DeleteSecretVariablesSuccess { deletedNames } } }`
  return (await app.graphql(key, query, { names })).data.deleteSecretVariables
}
/** The environment of a container, which no face shows. */
const environmentOf = async (id: number): Promise<Record<string, string>> => {
  const [row] = await app.sql(`SELECT launch -> 'env' AS env, secret_env FROM instances WHERE id = ${id}`)
  const { env, secret_env: sealed } = row as { env: EnvVar[]; secret_env: Buffer | null }
  const kept = openJson<Record<string, string>>(createSecrets('a secret of tests'), sealed) ?? {}
  return Object.fromEntries(restoreSecrets(env, kept).map(({ name, value }) => [name, value]))
}
const rent = (key: string, body: object = {}) => rentals.rent(key, body)

describe('secret variables over REST', () => {
  it('are set, masked, changed and deleted', async () => {
    const key = await newKey()
    expect(await secretsOf(key)).toEqual({})
    const added = await post(key, { key: 'hf_token', value: 'hush' })
    expect(added.body).toEqual({ success: true, msg: 'Environment variables processed successfully' })
    await post(key, {
      env_vars: [
        { key: 'A', value: 1 },
        { key: 'B', value: true },
      ],
    })
    expect(await secretsOf(key)).toEqual({ A: '********', B: '********', HF_TOKEN: '********' })
    const changed = await app.rest(key, 'PUT', '/secrets', { key: 'HF_TOKEN', value: 'hush hush' })
    expect(changed.body).toEqual({ success: true, msg: 'Environment variable updated successfully' })
    const deleted = await app.rest(key, 'DELETE', '/secrets/', { key: 'A' })
    expect(deleted.body).toEqual({ success: true, msg: 'Environment variable deleted successfully' })
    expect(Object.keys(await secretsOf(key))).toEqual(['B', 'HF_TOKEN'])
    // DELETE looks for exactly this name first, then for the name in capitals.
    await set(key, [{ name: 'b', value: 'x' }])
    for (const left of [['B', 'HF_TOKEN'], ['HF_TOKEN']]) {
      expect((await app.rest(key, 'DELETE', '/secrets/', { key: 'b' })).status).toBe(200)
      expect(Object.keys(await secretsOf(key))).toEqual(left)
    }
    await post(key, { key: 'B', value: true })
    expect(await environmentOf(await rent(key))).toMatchObject({ B: 'true', HF_TOKEN: 'hush hush' })
  })

  it.each([
    ['POST', {}, "Both 'key' and 'value' are required."],
    ['POST', { key: 'A' }, "Both 'key' and 'value' are required."],
    ['POST', { key: 'A', value: '' }, "Both 'key' and 'value' are required."],
    ['POST', { env_vars: [{ key: 'A' }] }, "Both 'key' and 'value' are required."],
    ['POST', { env_vars: 'A=1' }, 'must be a list'],
    ['POST', { key: '1A', value: 'x' }, 'must have a name of letters'],
    ['POST', { key: 'A', value: 'x\0' }, 'must be well-formed Unicode without NUL.'],
    ['POST', { key: 'A', value: 'hush'.repeat(5_000) }, 'must have at most 16384 characters'],
    ['PUT', { key: 'A' }, "Both 'key' and 'value' are required."],
    ['PUT', { key: 'A', value: 'x' }, 'Environment variable not found'],
    ['DELETE', {}, 'key: is required.'],
    ['DELETE', { key: 'A' }, 'Environment variable not found'],
    ['DELETE', { key: 'A\0' }, 'Environment variable not found'],
  ])('are refused by %s with %j', async (method, body, msg) => {
    const key = await newKey()
    const answer = await app.rest(key, method, '/secrets/', body)
    expect([answer.status, answer.body.msg]).toEqual([400, expect.stringContaining(msg)])
    expect(answer.body.msg).not.toContain('hush')
    expect(await secretsOf(key)).toEqual({})
  })

  it('are limited to 16 per account, and a list is set as a whole or not at all', async () => {
    const key = await newKey()
    const many = (count: number) => Array.from({ length: count }, (_, index) => ({ key: `A${index}`, value: 'x' }))
    expect((await post(key, { env_vars: many(17) })).status).toBe(400)
    expect(await secretsOf(key)).toEqual({})
    expect((await post(key, { env_vars: many(16) })).status).toBe(200)
    const { status, body } = await post(key, { key: 'B', value: 'x' })
    const msg = 'User has reached the limit of 16 environment variables.'
    expect([status, body]).toEqual([400, { success: false, error: 'limit_reached', msg }])
    expect((await post(key, { key: 'A1', value: 'y' })).status).toBe(200)
  })
})

describe('secret variables over GraphQL', () => {
  it('are the same as over REST, with their exact names', async () => {
    const key = await newKey()
    const at = app.clock.now().toISOString()
    expect((await set(key, [{ name: 'http_proxy', value: 'p' }])).variables).toEqual([
      { name: 'http_proxy', createdAt: at, updatedAt: at },
    ])
    app.clock.advance(1_000)
    await post(key, { key: 'b', value: 'x' })
    await set(key, [{ name: 'http_proxy', value: 'q' }])
    const { data } = await app.graphql(key, '{ viewer { account { secretVariables { name createdAt updatedAt } } } }')
    const later = app.clock.now().toISOString()
    expect(data.viewer.account.secretVariables).toEqual([
      { name: 'B', createdAt: later, updatedAt: later },
      { name: 'http_proxy', createdAt: at, updatedAt: later },
    ])
    expect(await remove(key, 'http_proxy')).toMatchObject({ deletedNames: ['http_proxy'] })
    expect(await remove(key, 'http_proxy')).toMatchObject({ code: 'NOT_FOUND' })
    expect(await secretsOf(key)).toEqual({ B: '********' })
  })

  it('are deleted together, with an event for each, or not at all', async () => {
    const key = await newKey()
    const deletions = async () => {
      const { data } = await app.graphql(
        key,
        '{ events(first: 9, filter: { kinds: [SECRET_VARIABLE_DELETED] }) { nodes { changes { field before } } } }',
      )
      return data.events.nodes.map(({ changes }: { changes: object[] }) => changes[0])
    }
    const names = ['A', 'B', 'C']
    await set(
      key,
      names.map(name => ({ name, value: 'x' })),
    )
    expect(await remove(key, 'A', 'D', 'B', 'a\0', 'D')).toEqual({
      __typename: 'NotFoundError',
      code: 'NOT_FOUND',
      message: 'There is no secret variable named "D", "a\\u0000". Nothing was changed.',
      id: null,
      names: ['D', 'a\0'],
    })
    expect([Object.keys(await secretsOf(key)), await deletions()]).toEqual([names, []])
    expect(await remove(key, 'C', 'A', 'C')).toMatchObject({ deletedNames: ['C', 'A'] })
    expect([Object.keys(await secretsOf(key)), await deletions()]).toEqual([
      ['B'],
      [
        { field: 'name', before: 'C' },
        { field: 'name', before: 'A' },
      ],
    ])
  })

  it('are deleted by one of two requests that name the same variables in another order', async () => {
    const key = await newKey()
    for (let turn = 0; turn < 5; turn += 1) {
      await set(
        key,
        ['A', 'B'].map(name => ({ name, value: 'x' })),
      )
      const answers = await Promise.all([remove(key, 'A', 'B'), remove(key, 'B', 'A')])
      expect(answers.map(({ __typename }) => __typename).toSorted()).toEqual([
        'DeleteSecretVariablesSuccess',
        'NotFoundError',
      ])
    }
  })

  it('are not deleted by a request with no names or with more than an account can have', async () => {
    const key = await newKey()
    const many = Array.from({ length: 17 }, (_, index) => `A${index}`)
    for (const names of [[], many])
      expect(await remove(key, ...names)).toMatchObject({ code: 'INVALID_INPUT', issues: [{ path: 'names' }] })
    const reader = await app.newScopedKey(key, { api: { user_read: {} } })
    const query = 'mutation { deleteSecretVariables(input: { names: ["A"] }) { __typename } }'
    expect((await app.graphql(reader, query)).errors).toMatchObject([
      { extensions: { code: 'FORBIDDEN', missing: ['DELETE_SECRET_VARIABLES'] } },
    ])
  })

  it('are refused with every issue at once, and none is set', async () => {
    const key = await newKey()
    const answer = await set(key, [
      { name: 'GOOD', value: 'x' },
      { name: 'B-D', value: 'x' },
      { name: 'EMPTY', value: '' },
    ])
    expect(answer.issues).toEqual([{ path: 'variables.B-D' }, { path: 'variables.EMPTY' }])
    expect(await secretsOf(key)).toEqual({})
  })

  it('have events with their names only', async () => {
    const key = await newKey()
    await set(key, [{ name: 'TOKEN', value: 'hush' }])
    await remove(key, 'TOKEN')
    const { data } = await app.graphql(key, '{ events { nodes { kind message changes { field before after } } } }')
    const [name, field] = ['TOKEN', 'name']
    const [wasSet, deleted] = data.events.nodes.slice(-2)
    expect([wasSet, deleted]).toMatchObject([
      { kind: 'SECRET_VARIABLE_UPDATED', message: `Secret variable "${name}" set.` },
      { kind: 'SECRET_VARIABLE_DELETED', message: `Secret variable "${name}" deleted.` },
    ])
    expect([wasSet.changes, deleted.changes]).toEqual([
      [{ field, before: null, after: name }],
      [{ field, before: name, after: null }],
    ])
  })
})

describe('a rental', () => {
  it('gets the secret variables, except those that its request or its template sets', async () => {
    const key = await newKey()
    await set(
      key,
      ['FROM_ACCOUNT', 'OF_TEMPLATE', 'OF_REQUEST', 'LANG'].map(name => ({ name, value: 'account' })),
    )
    const { hashId } = await templatesOf(app).mustCreate(key, { env: [{ name: 'OF_TEMPLATE', value: 'template' }] })
    const env = { OF_REQUEST: 'request' }
    const id = await rent(key, { template_hash_id: hashId, env, lang_utf8: true, image: null })
    const wanted = { FROM_ACCOUNT: 'account', OF_TEMPLATE: 'template', OF_REQUEST: 'request', LANG: 'C.UTF-8' }
    expect(await environmentOf(id)).toMatchObject(wanted)
    const { data } = await app.graphql(key, `{ instance(id: ${id}) { launch { env { name value secret source } } } }`)
    const rows = new Map(data.instance.launch.env.map((row: { name: string }) => [row.name, row]))
    expect([...rows.values()]).toEqual(
      expect.arrayContaining([
        { name: 'FROM_ACCOUNT', value: null, secret: true, source: 'ACCOUNT' },
        { name: 'OF_TEMPLATE', value: 'template', secret: false, source: 'TEMPLATE' },
        { name: 'OF_REQUEST', value: 'request', secret: false, source: 'REQUEST' },
        { name: 'LANG', value: 'C.UTF-8', secret: false, source: 'REQUEST' },
      ]),
    )
    expect((await rentals.read(key, id)).extra_env).toContainEqual(['FROM_ACCOUNT', ''])
  })

  it('keeps the variables that it started with', async () => {
    const key = await newKey()
    await set(key, [{ name: 'TOKEN', value: 'first' }])
    const id = await rent(key)
    await set(key, [{ name: 'TOKEN', value: 'second' }])
    expect(await environmentOf(id)).toMatchObject({ TOKEN: 'first' })
    await remove(key, 'TOKEN')
    expect(await environmentOf(await rent(key))).not.toHaveProperty('TOKEN')
  })

  it('of another account gets no secret variables', async () => {
    const [key, other] = [await newKey(), await newKey()]
    await set(key, [{ name: 'TOKEN', value: 'hush' }])
    expect(await environmentOf(await rent(other))).not.toHaveProperty('TOKEN')
    expect([await secretsOf(other), await remove(other, 'TOKEN')]).toMatchObject([{}, { code: 'NOT_FOUND' }])
  })
})

it('the value of a secret variable is not readable in the database or the log', async () => {
  const key = await newKey()
  const value = 'a-value-that-is-nowhere-else'
  await set(key, [{ name: 'TOKEN', value }])
  await rent(key)
  const tables = ['secret_variables', 'events', 'instances', 'idempotency_keys', 'webhook_deliveries']
  for (const table of tables) {
    const rows = await app.sql(`SELECT t::text FROM ${table} t`)
    expect(JSON.stringify(rows)).not.toContain(value)
    expect(JSON.stringify(rows)).not.toContain(Buffer.from(value).toString('hex'))
  }
  expect(JSON.stringify(app.logLines)).not.toContain(value)
})

it.each(["'A-B'", "''", "'1'"])('a secret variable cannot have the name %s in the database', async name => {
  const writing = app.sql(`INSERT INTO secret_variables (account_id, name, value, created_at, updated_at)
    SELECT min(id), ${name}, 'x', now(), now() FROM accounts`)
  await expect(writing).rejects.toThrow('secret_variables_name')
})

it('an account has no more than 16 secret variables, even when several are set at once', async () => {
  const key = await newKey()
  await set(
    key,
    Array.from({ length: 15 }, (_, index) => ({ name: `A${index}`, value: 'x' })),
  )
  const { id } = (await app.rest(key, 'GET', '/users/current')).body
  const second = await withSession(app.database.url, async session => {
    await session.query('BEGIN')
    await session.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [id])
    await session.query(
      `INSERT INTO secret_variables SELECT account_id, 'B', value, now(), now() FROM secret_variables
       WHERE account_id = $1 AND name = 'A0'`,
      [id],
    )
    let isDone = false
    const setting = set(key, [{ name: 'C', value: 'x' }]).finally(() => {
      isDone = true
    })
    await waitForLockWaiters(session, () => isDone)
    await session.query('COMMIT')
    return await setting
  })
  expect(second.code).toBe('CONFLICT')
  expect(Object.keys(await secretsOf(key))).toHaveLength(16)
})

it('lists secret variables with one statement, which reads only what is asked for', async () => {
  const key = await newKey()
  const names = ['b', 'A', '_c', 'B']
  await set(
    key,
    names.map(name => ({ name, value: 'x' })),
  )
  const sent = await captureQueries(async () => {
    const { data } = await app.graphql(key, '{ viewer { account { secretVariables { createdAt } } } }')
    expect(data.viewer.account.secretVariables).toHaveLength(names.length)
  })
  const reads = sent.filter(text => text.includes('secret_variables'))
  expect(reads).toHaveLength(1)
  expect(reads[0]).not.toMatch(/updated_at|"value"/)
  expect(Object.keys(await secretsOf(key))).toEqual(['A', 'B', '_c', 'b'])
})
