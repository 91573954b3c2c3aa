// A standby is promoted without the last transactions of its primary. Two gateways reach both servers through a proxy.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openServer } from '../../../../src/database/embedded/server.ts'
import { startApp, type TestApp } from '../../../support/app.ts'
import { type FaultyProxy, startFaultyProxy } from '../../../support/database/faulty-proxy.ts'
import { type ReplicationPair, startReplicationPair } from '../../../support/database/replication-pair.ts'
import { type Subscription, subscribeSse } from '../../../support/streams.ts'

let pair: ReplicationPair
let proxy: FaultyProxy
let gateways: [TestApp, TestApp]
let key: string

beforeAll(async () => {
  pair = await startReplicationPair()
  proxy = await startFaultyProxy(pair.primaryUrl)
  const first = await startApp({ databaseUrl: proxy.url })
  gateways = [first, await startApp({ databaseUrl: proxy.url })]
  key = await first.newKey()
})

afterAll(async () => {
  for (const gateway of gateways) await gateway.close()
  proxy.close()
  await pair.close()
})

const page = 'nodes { id } pageInfo { endCursor }'
const readEvents = async (gateway: TestApp, after?: string) => {
  const answer = await gateway.graphql(key, `{ events${after ? `(first: 50, after: "${after}")` : ''} { ${page} } }`)
  return { events: answer.data?.events, code: answer.errors?.[0]?.extensions['code'] }
}
const grant = (gateway: TestApp) => gateway.operations.accounts.grantCredit('renter-1@example.com', { amountNanos: 1n })
const readReadiness = async (gateway: TestApp) => {
  const answer = await gateway.fetch(new Request('http://berth.test/ready'))
  return { status: answer.status, body: await answer.text() }
}
const readEpochs = () => pair.runSql(pair.standbyUrl, 'SELECT epoch FROM outbox')
const cursorExpired = { errors: [{ extensions: { code: 'CURSOR_EXPIRED' } }] }

describe('a gateway', () => {
  it('refuses to start on a standby', async () => {
    const open = openServer(
      { databaseUrl: pair.standbyUrl, ownerUrl: undefined, metricsUrl: undefined },
      { dataDir: '/dev/null', role: 'gateway', onLost: () => {} },
    )
    await expect(open).rejects.toThrow(
      'The database that DATABASE_URL names is a standby, which accepts no writes. Set DATABASE_URL to the primary.',
    )
  })

  it('serves nothing from a standby, and reports why it is not ready', async () => {
    await pair.waitUntilCaughtUp()
    proxy.switchTo(pair.standbyUrl)
    for (const gateway of gateways) {
      await expect
        .poll(() => readReadiness(gateway), { timeout: 5_000 })
        .toMatchObject({
          status: 503,
          body: expect.stringContaining('the database is a standby'),
        })
      expect((await gateway.graphql(key, '{ viewer { account { id } } }')).errors).toMatchObject([
        { extensions: { code: 'UNAVAILABLE' } },
      ])
    }
    proxy.switchTo(pair.primaryUrl)
    for (const gateway of gateways)
      await expect.poll(async () => (await readReadiness(gateway)).status, { timeout: 5_000 }).toBe(200)
    expect(await readEpochs()).toEqual([{ epoch: 1 }])
  })

  it('expires older cursors and streams at its first connection to a promoted standby', async () => {
    const streams = await Promise.all(
      gateways.map(({ fetch }) => subscribeSse(fetch, key, 'subscription { events { cursor } }')),
    )
    const market = await subscribeSse(gateways[1].fetch, key, 'subscription { offerChanges(filter: {}) { kind } }')
    const keptMs = Date.now()
    await grant(gateways[0])
    for (const stream of streams) expect((await stream.next())?.data.events.cursor).toEqual(expect.any(String))
    await pair.waitUntilCaughtUp()
    await pair.disconnectStandby()
    const lossMs = Date.now()
    // Both gateways read these events, which are then lost with the primary.
    for (const _ of Array(20)) await grant(gateways[0])
    let cursor: string | undefined
    for (const _ of Array(20)) cursor = (await (streams[0] as Subscription).next())?.data.events.cursor
    const before = await readEvents(gateways[1], cursor)
    expect(before.events.nodes).toEqual([])

    await pair.failOver()
    // The standby uses up the lost transactions' ids before a gateway connects, so only the timeline differs.
    const [accountId] = await pair.runSql(pair.standbyUrl, "SELECT id FROM accounts WHERE email LIKE 'renter-1@%'")
    const event = `INSERT INTO events (kind, account_id, actor_kind, subject_type, subject_id, after, created_at)
      VALUES ('CREDIT_GRANTED', ${accountId?.['id']}, 'system', 'Account', ${accountId?.['id']}, '{}', now())`
    for (const _ of Array(100)) await pair.runSql(pair.standbyUrl, event)
    expect(await pair.runSql(pair.standbyUrl, 'SELECT timeline_id FROM pg_control_checkpoint()')).toEqual([
      { timeline_id: 1 },
    ])
    proxy.switchTo(pair.standbyUrl)

    for (const stream of [...streams, market]) {
      let last = await stream.next()
      while (last?.data) last = await stream.next()
      expect(last).toMatchObject(cursorExpired)
    }
    for (const gateway of gateways) {
      expect((await readEvents(gateway, cursor)).code).toBe('CURSOR_EXPIRED')
      expect((await readEvents(gateway, before.events.pageInfo.endCursor)).code).toBe('CURSOR_EXPIRED')
      expect((await readEvents(gateway)).events.nodes.length).toBeGreaterThan(0)
    }
    const [noted, ...others] = await pair.runSql(pair.standbyUrl, 'SELECT * FROM failovers')
    expect(others).toEqual([])
    expect(await readEpochs()).toEqual([{ epoch: noted?.['epoch'] }])
    const failoverWarnings = gateways.flatMap(({ logLines }) =>
      logLines.filter(({ msg }) => String(msg).includes('failed over')),
    )
    const completeUntil = noted?.['complete_until'] as Date
    expect(failoverWarnings).toMatchObject([{ completeUntil: completeUntil.toISOString() }])
    expect(completeUntil.getTime()).toBeGreaterThanOrEqual(keptMs - 1)
    expect(completeUntil.getTime()).toBeLessThanOrEqual(lossMs)
    const { epoch, line, noticed_at: noticedAt } = noted as Record<string, unknown>
    const shown = { epoch, line, witnessed: true, restored: false, noticedAt, completeUntil }
    expect(await gateways[0].operations.failovers.list()).toEqual([shown])
    // No id of the lost line is given again.
    const [ids] = await pair.runSql(pair.standbyUrl, 'SELECT last_value::int FROM instances_id_seq')
    expect(ids?.['last_value']).toBeGreaterThan(1_000_000)
    expect(Number(noted?.['instances_until'])).toBe(ids?.['last_value'])
  })
})
