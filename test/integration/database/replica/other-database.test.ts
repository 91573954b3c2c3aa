import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../../support/app.ts'
import { urlAs } from '../../../support/database/roles.ts'

let other: TestApp
let gateway: TestApp

beforeAll(async () => {
  other = await startApp()
  const replica = { url: urlAs('app', other.database.url), maxLagMs: 5_000 }
  gateway = await startApp({ replica })
})

afterAll(async () => {
  await gateway.close()
  await other.close()
})

it('never reads from another database than that of the primary, and says so', async () => {
  // The first account of each database.
  const [stranger, key] = [await other.newKey(), await gateway.newKey()]
  await other.graphql(stranger, 'mutation { createApiKey(input: { name: "theirs" }) { __typename } }')
  for (let asked = 0; asked < 8; asked += 1) {
    const { data } = await gateway.graphql(key, '{ events(first: 5) { nodes { kind after { __typename } } } }')
    expect(data.events.nodes).toHaveLength(1)
    await sleep(200)
  }
  expect(JSON.stringify(gateway.logLines)).toContain('DATABASE_REPLICA_URL leads to another database than the primary')
})
