// Two gateways that remember keys, on one database.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureStatements } from '../../support/database/captured-statements.ts'

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
    const answer = await gateway.graphql(key, `mutation { deleteApiKey(input: {id: "${id}"}) { __typename } }`)
    expect(answer.data.deleteApiKey.__typename).toBe('DeleteApiKeySuccess')
    expect(await ask(gateway, key)).toBe(401)
    await expect.poll(() => ask(other, key), { interval: 5, timeout: 500 }).toBe(401)
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

  it('is refused after a change past all services', async () => {
    const { key, id } = await newRememberedKey()
    await gateway.sql('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [id])
    for (const app of [gateway, other]) await expect.poll(() => ask(app, key), { interval: 5, timeout: 500 }).toBe(401)
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
