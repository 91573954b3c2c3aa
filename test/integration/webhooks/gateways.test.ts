// Several gateways share the deliveries. An endpoint that hangs delays no other endpoint.

import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../../src/database/client.ts'
import type { ConnectionPool } from '../../../src/database/pool.ts'
import { createWebhookSender } from '../../../src/events/webhook-sender.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { deliveryServices } from '../../../src/services/webhooks/delivery.ts'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { urlAs } from '../../support/database/roles.ts'
import { openReceiver, type Receiver } from '../../support/webhooks/receiver.ts'
import { webhooksOf } from '../../support/webhooks/webhooks.ts'

let app: TestApp
let other: TestApp
let webhooks: ReturnType<typeof webhooksOf>
let receiver: Receiver
let key: string

beforeAll(async () => {
  app = await startApp({ privateWebhooks: true })
  other = await startApp({ sharedApp: app, privateWebhooks: true })
  webhooks = webhooksOf(app)
})

afterAll(async () => {
  await other.close()
  await app.close()
})

beforeEach(async () => {
  // Deliveries of earlier tests are no longer due.
  await app.sql('UPDATE webhook_deliveries SET due_at = NULL, leased_until = NULL')
  key = await app.newKey()
  receiver = await openReceiver()
  return () => receiver.close()
})

async function causeEvents(count: number, by = key): Promise<string[]> {
  const all = Array.from({ length: count }, (_, index) => `number ${index}`)
  for (const name of all) {
    const input = { publicKey: aPublicKey(name), name }
    const mutation = 'mutation ($input: CreateSshKeyInput!) { createSshKey(input: $input) { __typename } }'
    const { data } = await app.graphql(by, mutation, { input })
    expect(data.createSshKey.__typename).toBe('CreateSshKeySuccess')
  }
  return all
}

const receivedNames = (path: string) =>
  receiver.received.filter(one => one.path === path).map(({ event }) => event.after.name as string)

/** Runs `act` between the choice of webhooks and the leasing of their deliveries. */
function hookBeforeLease(pool: pg.Pool, act: () => Promise<void>): ConnectionPool {
  const connect = async () => {
    const client = await pool.connect()
    const query = async (statement: pg.QueryConfig | string) => {
      const result = await client.query(statement)
      if (typeof statement !== 'string' && statement.text.includes('turns AS')) await act()
      return result
    }
    return { query, release: (broken?: boolean) => client.release(broken) }
  }
  return { connect, emit: () => true } as unknown as ConnectionPool
}

/** The delivery services of a gateway without its workers. */
async function withDeliveries<T>(
  work: (deliveries: ReturnType<typeof deliveryServices>) => Promise<T>,
  between = async () => {},
): Promise<T> {
  const database = openDatabase({
    url: urlAs('app', app.database.url),
    poolSize: 2,
    onIdleError: () => {},
    now: app.clock.now,
  })
  const secrets = createSecrets('a secret of tests')
  const pool = hookBeforeLease(database.pool, between)
  try {
    return await work(deliveryServices({ database: { ...database, pool }, secrets }))
  } finally {
    await database.close()
  }
}

describe('two gateways', () => {
  it('send every event once, and at most two to a webhook at a time', async () => {
    await webhooks.create(key, `${receiver.url}/a`)
    await webhooks.create(key, `${receiver.url}/b`)
    const [open, most] = [
      { '/a': 0, '/b': 0 },
      { '/a': 0, '/b': 0 },
    ] as Record<string, number>[]
    receiver.answer(async (response, { path }) => {
      if (!open || !most) return
      open[path] = (open[path] ?? 0) + 1
      most[path] = Math.max(most[path] ?? 0, open[path])
      // Wait, so that two deliveries overlap even on a slow machine.
      const giveUpAt = performance.now() + 1_000
      do await sleep(5)
      while ((most[path] ?? 0) < 2 && performance.now() < giveUpAt)
      open[path] -= 1
      response.writeHead(200).end()
    })
    const all = await causeEvents(15)
    await Promise.all([app.runUntilIdle(), other.runUntilIdle()])
    await Promise.all([app.runUntilIdle(), other.runUntilIdle()])
    for (const path of ['/a', '/b']) expect(receivedNames(path).toSorted()).toEqual(all.toSorted())
    expect(Math.max(...Object.values(most ?? {}))).toBe(2)
  })

  it('never lease more than two deliveries of a webhook, even when they lease at once', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    await causeEvents(8)
    const leaseTen = () => withDeliveries(deliveries => deliveries.leaseDue(10))
    const taken = (await Promise.all(Array.from({ length: 8 }, leaseTen))).flat()
    taken.push(...(await leaseTen()), ...(await leaseTen()))
    expect(taken).toHaveLength(2)
    expect(new Set(taken.map(({ deliveryId }) => deliveryId)).size).toBe(2)
    expect(await webhooks.deliveries(key, id)).toHaveLength(8)
  })

  it('count the deliveries in progress again once they have locked the webhook', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    await causeEvents(8)
    // The state after another gateway leased deliveries between this gateway's count and its lock.
    const another = async () => {
      const until = new Date(app.clock.now().getTime() + 30_000).toISOString()
      const two = `SELECT id FROM webhook_deliveries WHERE webhook_id = ${id.slice(4)} ORDER BY id LIMIT 2`
      await app.sql(`UPDATE webhook_deliveries SET leased_until = '${until}' WHERE id IN (${two})`)
    }
    expect(await withDeliveries(deliveries => deliveries.leaseDue(10), another)).toEqual([])
  })
})

describe('a gateway that dies after sending an event', () => {
  it('leaves the event to another gateway, which sends it again with the same id', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    await causeEvents(1)
    await withDeliveries(async deliveries => {
      const [lease] = await deliveries.leaseDue(10)
      if (!lease) throw new Error('Nothing is due.')
      const send = createWebhookSender({ privateWebhooks: true })
      expect(await send(deliveries.buildRequest(lease), new AbortController().signal)).toEqual({ responseStatus: 204 })
    })
    app.clock.advance(29_999)
    await other.runUntilIdle()
    expect(receiver.received).toHaveLength(1)
    app.clock.advance(1)
    await other.runUntilIdle()
    const [first, second] = receiver.received.map(({ headers, body }) => [headers['webhook-id'], body])
    expect([receiver.received.length, second]).toEqual([2, first])
    expect(await webhooks.deliveries(key, id)).toMatchObject([{ status: 'DELIVERED', attempts: 1 }])
  })

  it('records nothing if it comes back after another gateway sent the event', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    await causeEvents(1)
    await withDeliveries(async deliveries => {
      const [lease] = await deliveries.leaseDue(10)
      if (!lease) throw new Error('Nothing is due.')
      app.clock.advance(30_000)
      await other.runUntilIdle()
      await deliveries.record(lease, { responseStatus: 500 })
    })
    expect(await webhooks.deliveries(key, id)).toMatchObject([
      { status: 'DELIVERED', attempts: 1, responseStatus: 204 },
    ])
  })
})

describe('an endpoint that hangs', () => {
  it('gets two deliveries at a time, and delays no other endpoint', async () => {
    const hanging: (() => void)[] = []
    receiver.answer((response, { path }) => {
      if (path === '/hangs') hanging.push(() => response.writeHead(200).end())
      else response.writeHead(200).end()
    })
    const { id } = await webhooks.create(key, `${receiver.url}/hangs`)
    const neighbor = await app.newKey()
    await webhooks.create(key, `${receiver.url}/own`)
    await webhooks.create(neighbor, `${receiver.url}/neighbor`)
    const all = await causeEvents(6)
    await causeEvents(6, neighbor)
    const done = app.runUntilIdle()
    await expect
      .poll(() => [receivedNames('/own').length, receivedNames('/neighbor').length, hanging.length])
      .toEqual([6, 6, 2])
    expect((await webhooks.deliveries(key, id)).map(({ status }) => status)).toEqual(Array(6).fill('PENDING'))
    receiver.answer(200)
    for (const end of hanging) end()
    await done
    expect(receivedNames('/hangs').toSorted()).toEqual(all)
  })

  it('has its delivery aborted when the gateway stops, and another gateway sends it', async () => {
    receiver.answer(() => {})
    const { id } = await webhooks.create(key, receiver.url)
    await causeEvents(1)
    const dying = await startApp({ sharedApp: app, privateWebhooks: true })
    const done = dying.runUntilIdle()
    await expect.poll(() => receiver.received.length).toBe(1)
    await dying.close()
    await done
    receiver.answer(200)
    await app.runUntilIdle()
    expect(receiver.received).toHaveLength(2)
    expect(await webhooks.deliveries(key, id)).toMatchObject([{ status: 'DELIVERED', attempts: 1 }])
  })
})

describe('accounts', () => {
  it('take turns, even when one account has more webhooks and has waited longer', async () => {
    for (let count = 1; count <= 6; count += 1) await webhooks.create(key, `${receiver.url}/${count}`)
    await causeEvents(4)
    app.clock.advance(1_000)
    const neighbor = await app.newKey()
    await webhooks.create(neighbor, `${receiver.url}/neighbor`)
    await causeEvents(4, neighbor)
    await withDeliveries(async deliveries => {
      const urls = async (limit: number) =>
        (await deliveries.leaseDue(limit)).map(lease =>
          deliveries.buildRequest(lease).url.endsWith('/neighbor') ? 'neighbor' : 'mine',
        )
      expect((await urls(2)).toSorted()).toEqual(['mine', 'neighbor'])
      // Each account has one delivery in progress, so each gets one more.
      expect((await urls(2)).toSorted()).toEqual(['mine', 'neighbor'])
      // The neighbor's webhook has two deliveries in progress, so the webhook is skipped.
      expect([await urls(1), await urls(1)]).toEqual([['mine'], ['mine']])
      // An account has at most eight deliveries in progress.
      expect(await urls(10)).toEqual(Array(4).fill('mine'))
      expect(await urls(10)).toEqual([])
    })
  })
})
