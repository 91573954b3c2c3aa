// Two gateways that remember keys, on one database.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { invalidKeyMessage } from '../../../src/domain/accounts/invalid-key.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureStatements } from '../../support/database/captured-statements.ts'
import { plainRequest } from '../../support/plain-request.ts'
import { openRawSocket, serveApp } from '../../support/streams.ts'

let gateway: TestApp
let other: TestApp
beforeAll(async () => {
  gateway = await startApp()
  other = await startApp({ sharedApp: gateway })
  for (const each of [gateway, other]) each.startWork()
})
afterAll(async () => {
  await other.close()
  await gateway.close()
})

const ask = async (app: TestApp, key: string) => (await app.rest(key, 'GET', '/users/current/')).status
const readsOfKeys = async (app: TestApp, key: string) => {
  const statements = await captureStatements(() => ask(app, key))
  return statements.filter(({ text }) => text.includes('FROM api_keys') && text.includes('secret_hash')).length
}
/** Resolves once the gateway remembers the key: it takes a moment until it listens. */
const remembers = (app: TestApp, key: string) => expect.poll(() => readsOfKeys(app, key)).toBe(0)

async function newRememberedKey(): Promise<{ key: string; id: number }> {
  const key = await gateway.newKey()
  for (const app of [gateway, other]) await remembers(app, key)
  const [row] = (await gateway.sql('SELECT id FROM api_keys ORDER BY id DESC LIMIT 1')) as { id: number }[]
  return { key, id: row?.id as number }
}

describe('a key that gateways remember', () => {
  it('is refused at once by the gateway that revokes it, and soon by the other', async () => {
    const { key, id } = await newRememberedKey()
    const answer = await gateway.graphql(
      key,
      `mutation { deleteApiKey(input: {id: "${id}", force: true}) { __typename } }`,
    )
    expect(answer.data.deleteApiKey.__typename).toBe('DeleteApiKeySuccess')
    expect(await ask(gateway, key)).toBe(401)
    await expect.poll(() => ask(other, key), { interval: 5, timeout: 500 }).toBe(401)
  })

  it('is refused soon by both gateways when a command disables its account, and works soon when one enables it', async () => {
    const { key, id } = await newRememberedKey()
    const [row] = (await gateway.sql('SELECT account_id FROM api_keys WHERE id = $1', [id])) as { account_id: number }[]
    const account = { id: row?.account_id as number }
    const { accounts } = gateway.operations
    await accounts.disable(account, { reason: 'Fraud.', keepInstances: false })
    for (const app of [gateway, other]) await expect.poll(() => ask(app, key), { interval: 5, timeout: 500 }).toBe(403)
    await accounts.enable(account)
    for (const app of [gateway, other]) await expect.poll(() => ask(app, key), { interval: 5, timeout: 500 }).toBe(200)
  })

  it('is refused at once by its old secret after a rotation', async () => {
    const { key, id } = await newRememberedKey()
    await gateway.graphql(key, `mutation { rotateApiKeySecret(input: {id: "${id}"}) { __typename } }`)
    expect(await ask(gateway, key)).toBe(401)
    await expect.poll(() => ask(other, key), { interval: 5, timeout: 500 }).toBe(401)
  })

  it('has its new permissions at once', async () => {
    const { key, id } = await newRememberedKey()
    const narrow = `mutation { updateApiKey(input: {id: "${id}", permissions: []}) { __typename } }`
    expect((await gateway.graphql(key, narrow)).data.updateApiKey.__typename).toBe('UpdateApiKeySuccess')
    expect(await ask(gateway, key)).toBe(403)
    await expect.poll(() => ask(other, key), { interval: 5, timeout: 500 }).toBe(403)
  })

  it('is remembered while another key is renamed', async () => {
    const [{ key }, renamed] = [await newRememberedKey(), await newRememberedKey()]
    const rename = `mutation { updateApiKey(input: {id: "${renamed.id}", name: "n"}) { __typename } }`
    const readsAfterRename = async () => {
      for (const app of [gateway, other]) await ask(app, key)
      expect((await gateway.graphql(renamed.key, rename)).data.updateApiKey.__typename).toBe('UpdateApiKeySuccess')
      return [await readsOfKeys(gateway, key), await readsOfKeys(other, key)]
    }
    await expect.poll(readsAfterRename).toEqual([0, 0])
  })

  it('is refused after a change past all services', async () => {
    const { key, id } = await newRememberedKey()
    await gateway.sql('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [id])
    for (const app of [gateway, other]) await expect.poll(() => ask(app, key), { interval: 5, timeout: 500 }).toBe(401)
  })
})

describe('a change with a key that has changed on another gateway, which has told no one', () => {
  let owner: string
  beforeAll(async () => {
    owner = await gateway.newKey()
    await gateway.sql('ALTER TABLE api_keys DISABLE TRIGGER USER')
  })
  afterAll(() => gateway.sql('ALTER TABLE api_keys ENABLE TRIGGER USER'))

  const template = 'mutation { createTemplate(input: {name: "t", image: "i"}) { __typename ... on Error { code } } }'
  const refused = { status: 401, data: undefined, errors: [{ message: 'The API key is unknown, expired or revoked.' }] }
  const revoke = (id: number) =>
    gateway.graphql(owner, `mutation { deleteApiKey(input: {id: "${id}"}) { __typename } }`)
  async function newKeyOfOwner() {
    const key = await gateway.newScopedKey(owner, {
      api: { misc: {}, instance_read: {}, instance_write: {}, user_read: {}, user_write: {} },
    })
    await remembers(other, key)
    const [row] = (await gateway.sql('SELECT id FROM api_keys ORDER BY id DESC LIMIT 1')) as { id: number }[]
    return { key, id: row?.id as number }
  }

  it('is refused at once over GraphQL', async () => {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const { key, id } = await newKeyOfOwner()
      await revoke(id)
      expect(await other.graphql(key, template)).toMatchObject(refused)
    }
  })

  it('is refused at once over REST', async () => {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const { key, id } = await newKeyOfOwner()
      await revoke(id)
      const { status, body } = await other.rest(key, 'PUT', '/instances/1/', { label: 'x' })
      expect([status, body]).toEqual([401, { success: false, error: 'auth_error', msg: 'Invalid user key' }])
    }
  })

  it('is refused while reads are answered for at most a second', async () => {
    const { key, id } = await newKeyOfOwner()
    await revoke(id)
    expect(await ask(other, key)).toBe(200)
    expect((await other.rest(key, 'POST', '/bundles/', {})).status).toBe(200)
    expect((await other.graphql(key, '{ viewer { account { id } } }')).status).toBe(200)
    await expect.poll(() => ask(other, key), { interval: 20, timeout: 1_200 }).toBe(401)
  })

  it('is refused in each form of a request over HTTP', async () => {
    const second = { query: `query A { __typename } ${template.replace('mutation', 'mutation B')}`, operationName: 'B' }
    for (const params of [{ query: template }, second]) {
      const body = JSON.stringify(params)
      const send = async (key: string, way: 'plain' | 'other') => {
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
        if (way === 'plain') return await other.plain('/graphql', plainRequest(headers, body))
        return await other.fetch(new Request('http://berth.test/graphql/', { method: 'POST', headers, body }))
      }
      const [first, next] = [await newKeyOfOwner(), await newKeyOfOwner()]
      for (const { id } of [first, next]) await revoke(id)
      expect(await send(first.key, 'plain')).toMatchObject({ answer: { status: 401 } })
      expect(await send(next.key, 'other')).toMatchObject({ status: 401 })
    }
  })

  it('is refused over an open WebSocket', async () => {
    const server = await serveApp(other)
    const { key, id } = await newKeyOfOwner()
    const socket = await openRawSocket(server.url)
    socket.say({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } })
    await expect.poll(() => socket.heard).toEqual([{ type: 'connection_ack' }])
    await remembers(other, key)
    await revoke(id)
    socket.say({ type: 'subscribe', id: '1', payload: { query: template } })
    expect(await socket.closed).toEqual([4403, invalidKeyMessage])
    await server.close()
  })

  it('needs the permissions that the key has now', async () => {
    const { key, id } = await newKeyOfOwner()
    const narrow = `mutation { updateApiKey(input: {id: "${id}", permissions: []}) { __typename } }`
    expect((await gateway.graphql(owner, narrow)).data.updateApiKey.__typename).toBe('UpdateApiKeySuccess')
    expect(await ask(other, key)).toBe(200)
    expect((await other.graphql(key, template)).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
    expect((await other.rest(key, 'PUT', '/instances/1/', { label: 'x' })).status).toBe(403)
  })
})

it('is read for each request by a gateway that is told of no changes', async () => {
  const { key } = await newRememberedKey()
  const alone = await startApp({ sharedApp: gateway })
  expect(await readsOfKeys(alone, key)).toBe(1)
  expect(await readsOfKeys(alone, key)).toBe(1)
  await alone.close()
})

it('is not remembered for other secrets', async () => {
  const { key } = await newRememberedKey()
  expect(await ask(gateway, `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`)).toBe(401)
  expect(await ask(gateway, key)).toBe(200)
})

describe('the database', () => {
  let listener: pg.Client
  const heard: (string | undefined)[] = []
  beforeAll(async () => {
    listener = new pg.Client({ connectionString: gateway.database.url })
    listener.on('notification', ({ payload }) => heard.push(payload))
    await listener.connect()
    await listener.query('LISTEN berth_key_change')
  })
  afterAll(() => listener.end())

  /** The ids of keys that gateways are told of when a statement runs for two keys. */
  async function toldBy(statement: string): Promise<(string | undefined)[]> {
    const insert = `INSERT INTO api_keys (id, account_id, public_id, secret_hash)
      VALUES (9001, 1, 'a', sha256('a')), (9002, 1, 'b', sha256('b'))`
    const mark = (payload: string) => `NOTIFY berth_key_change, '${payload}'`
    const statements = ['DELETE FROM api_keys WHERE id > 9000', insert, mark('start'), statement, mark('end')]
    for (const text of statements) await listener.query(text)
    await expect.poll(() => heard.at(-1)).toBe('end')
    return heard.slice(heard.lastIndexOf('start') + 1, -1)
  }

  it.each([
    ...['account_id = 2', "public_id = 'c'", "secret_hash = sha256('c')", "permissions = '{}'"],
    ...['expires_at = now()', 'revoked_at = now()'],
  ])('tells gateways which key has changed: %s', async change => {
    expect(await toldBy(`UPDATE api_keys SET ${change} WHERE id = 9001`)).toEqual(['9001'])
  })

  it.each(['UPDATE api_keys SET revoked_at = now() WHERE id > 9000', 'DELETE FROM api_keys WHERE id > 9000'])(
    'tells gateways of each key that has changed or gone: %s',
    async statement => {
      // In no order: PostgreSQL deletes rows as it finds them.
      expect((await toldBy(statement)).toSorted()).toEqual(['9001', '9002'])
    },
  )

  it('tells gateways of no change that does not matter to them', async () => {
    const same =
      'permissions = permissions, expires_at = expires_at, revoked_at = revoked_at, secret_hash = secret_hash'
    expect(await toldBy(`UPDATE api_keys SET name = 'n', last_used_at = now(), ${same} WHERE id > 9000`)).toEqual([])
  })
})
