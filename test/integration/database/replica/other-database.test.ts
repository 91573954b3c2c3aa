import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aPublicKey } from '../../../support/accounts/ssh-keys.ts'
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
  const mutation = 'mutation ($input: CreateSshKeyInput!) { createSshKey(input: $input) { __typename } }'
  const { data } = await other.graphql(stranger, mutation, {
    input: { publicKey: aPublicKey('theirs'), name: 'theirs' },
  })
  expect(data.createSshKey.__typename).toBe('CreateSshKeySuccess')
  for (let asked = 0; asked < 8; asked += 1) {
    const answer = await gateway.graphql(key, '{ events(first: 5) { nodes { kind } } }')
    expect(answer.errors).toBeUndefined()
    expect(answer.data.events.nodes).not.toContainEqual({ kind: 'SSH_KEY_CREATED' })
    await sleep(200)
  }
  expect(JSON.stringify(gateway.logLines)).toContain('DATABASE_REPLICA_URL leads to another database than the primary')
})
