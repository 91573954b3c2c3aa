// What operators learn of webhooks that fail: from the log, from a list, and from a figure.

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { readMarketMeasures } from '../../../src/services/market-measures.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { webhookListOperations } from '../../../src/services/webhooks/list.ts'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { openReceiver, type Receiver } from '../../support/webhooks/receiver.ts'
import { webhooksOf } from '../../support/webhooks/webhooks.ts'

let app: TestApp
let gateway: Gateway
let webhooks: ReturnType<typeof webhooksOf>
let receiver: Receiver
let key: string

beforeAll(async () => {
  app = await startApp({ privateWebhooks: true })
  gateway = openGateway({ url: app.database.url, now: app.clock.now })
  webhooks = webhooksOf(app)
})

afterAll(async () => {
  await gateway.close()
  await app.close()
})

beforeEach(async () => {
  key = await app.newKey()
  app.logLines.length = 0
  receiver = await openReceiver()
  return () => receiver.close()
})

async function causeEvent(name: string): Promise<void> {
  const input = `{ publicKey: "${aPublicKey(`${key} ${name}`)}", name: "${name}" }`
  await app.graphql(key, `mutation { createSshKey(input: ${input}) { __typename } }`)
  await app.runUntilIdle()
}

const openSecrets = async () => createSecrets('a secret of tests')
const list = (failing: boolean, after = 0) =>
  webhookListOperations({ database: gateway.database, openSecrets }).page({ failing }, after, 10)
const webhookLines = () => app.logLines.filter(({ msg }) => String(msg).startsWith('A webhook'))
const countFailing = async () => (await readMarketMeasures(gateway.database)).webhooksFailing

it('begins to fail with one line in the log, is listed since then, and works again with another line', async () => {
  const { id } = await webhooks.create(key, `${receiver.url}/hooks?token=s3cret`)
  const webhookId = Number(id.slice(4))
  const others = await countFailing()
  expect(await list(true)).toEqual([])
  receiver.answer(503)
  const failingSince = app.clock.now()
  await causeEvent('one')
  app.clock.advance(5_000)
  await causeEvent('two')
  app.clock.advance(15_000)
  await app.runUntilIdle()
  expect(receiver.received).toHaveLength(4)
  expect(webhookLines()).toMatchObject([{ level: 40, webhookId, accountId: expect.any(Number), responseStatus: 503 }])
  const listed = await list(true)
  const { host } = new URL(receiver.url)
  expect(listed).toMatchObject([{ id: webhookId, host, failingSince, lastStatus: 503, lastError: null, pending: 2 }])
  expect(JSON.stringify([listed, webhookLines()])).not.toContain('s3cret')
  expect(await countFailing()).toBe(others + 1)

  receiver.answer(200)
  app.clock.advance(90_000)
  await app.runUntilIdle()
  expect(webhookLines()).toMatchObject([{ level: 40 }, { level: 30, webhookId, msg: 'A webhook takes events again.' }])
  expect(await list(true)).toEqual([])
  expect(await list(false)).toMatchObject([{ id: webhookId, failingSince: null, lastStatus: 200, pending: 0 }])
  expect(await countFailing()).toBe(others)
})

it('is no longer counted once it is deleted', async () => {
  const { id } = await webhooks.create(key, 'http://127.0.0.1:1/')
  await causeEvent('nowhere')
  expect(await list(true)).toMatchObject([{ lastStatus: null, lastError: 'The connection failed: ECONNREFUSED.' }])
  const before = await countFailing()
  await webhooks.mutate(key, 'delete', { id })
  expect([await list(true), await countFailing()]).toEqual([[], before - 1])
})
