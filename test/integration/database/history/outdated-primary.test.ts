// A primary that hung while a standby took over goes on, and does not know of it for a moment.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../../support/app.ts'
import { type FaultyProxy, startFaultyProxy } from '../../../support/database/faulty-proxy.ts'
import { type ReplicationPair, startReplicationPair } from '../../../support/database/replication-pair.ts'

let pair: ReplicationPair
let proxy: FaultyProxy
let gateway: TestApp
let key: string

beforeAll(async () => {
  pair = await startReplicationPair()
  proxy = await startFaultyProxy(pair.primaryUrl)
  gateway = await startApp({ databaseUrl: proxy.url })
  key = await gateway.newKey()
})
afterAll(async () => {
  await gateway.close()
  proxy.close()
  await pair.close()
})

const create = (name: string) =>
  gateway.graphql(key, `mutation { createTemplate(input: { name: "${name}", image: "ubuntu" }) { __typename } }`)
const isReady = async () => (await gateway.fetch(new Request('http://berth.test/ready'))).status === 200
const readNames = async (url: string) => (await pair.runSql(url, 'SELECT name FROM templates')).map(({ name }) => name)

it('reads and writes nothing on a server that another one has replaced', async () => {
  await pair.waitUntilCaughtUp()
  await pair.disconnectStandby()
  await pair.promoteStandby()
  proxy.switchTo(pair.standbyUrl)
  await expect.poll(isReady, { timeout: 20_000 }).toBe(true)
  await create('on the new primary')
  expect(await readNames(pair.standbyUrl)).toEqual(['on the new primary'])

  proxy.switchTo(pair.primaryUrl)
  await expect.poll(isReady, { timeout: 20_000 }).toBe(false)
  for (const answer of [await gateway.graphql(key, '{ templates { nodes { name } } }'), await create('lost')])
    expect(answer).toMatchObject({ errors: [{ extensions: { code: 'UNAVAILABLE' } }] })
  expect(await readNames(pair.primaryUrl)).toEqual([])

  proxy.switchTo(pair.standbyUrl)
  await expect.poll(isReady, { timeout: 20_000 }).toBe(true)
  expect(await create('again')).toMatchObject({ data: { createTemplate: { __typename: 'CreateTemplateSuccess' } } })
})
