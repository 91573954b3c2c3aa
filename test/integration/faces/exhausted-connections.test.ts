// A gateway whose requests hold all of their connections: they wait for a lock that this test has.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shareConnections } from '../../../src/database/shares.ts'
import { limitsFor } from '../../../src/http/admission/admission.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { openRawSocket, serveApp } from '../../support/streams.ts'

const poolSize = 6
const connections = shareConnections(poolSize).requests

let app: TestApp
let locker: pg.Client
beforeAll(async () => {
  app = await startApp({ poolSize })
  locker = new pg.Client({ connectionString: app.database.url, application_name: 'test' })
  await locker.connect()
})
afterAll(async () => {
  await locker.end()
  await app.close()
})

async function lockWaiters(): Promise<number> {
  const where = `datname = current_database() AND wait_event_type = 'Lock'`
  return (await app.sql(`SELECT FROM pg_stat_activity WHERE ${where}`)).length
}

const templates = (key: string) => app.graphql(key, '{ templates(first: 1) { nodes { id } } }')

/** Runs the work while requests of the key hold all connections that requests have. They get an answer in the end. */
async function whileExhausted<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
  await locker.query('BEGIN; LOCK TABLE templates IN ACCESS EXCLUSIVE MODE')
  let isOver = false
  const flood = Array.from({ length: connections }, async () => {
    while (!isOver) await templates(key)
  })
  try {
    await expect.poll(lockWaiters, { timeout: 10_000 }).toBe(connections)
    return await work()
  } finally {
    isOver = true
    await locker.query('ROLLBACK')
    await Promise.all(flood)
  }
}

describe('while requests hold all of their connections', () => {
  it('another request is soon told to come back, on both faces', async () => {
    const key = await app.newKey()
    const ask = async <Answer>(work: () => Promise<Answer>) => {
      const start = performance.now()
      return { answer: await work(), ms: performance.now() - start }
    }
    const [rest, graphql] = await whileExhausted(key, () =>
      Promise.all([
        ask(() => app.rest(key, 'GET', '/users/current/')),
        ask(() => app.graphql(key, '{ viewer { account { credit } } }')),
      ]),
    )
    expect(rest.answer).toMatchObject({ status: 503, body: { success: false, error: 'unavailable' } })
    expect(rest.answer.headers.get('retry-after')).toBe('1')
    expect(graphql.answer).toMatchObject({
      status: 503,
      errors: [{ extensions: { code: 'UNAVAILABLE', retry: 'LATER' } }],
    })
    // The lock holds them up for two seconds.
    for (const { ms } of [rest, graphql]) expect(ms).toBeLessThan(1_500)
    expect((await app.rest(key, 'GET', '/users/current/')).status).toBe(200)
  })

  it('due work is done', async () => {
    const key = await app.newKey(null, someCredit)
    const rentals = rentalsOf(app)
    const id = await rentals.rent(key)
    const readStatus = async () => {
      const { rows } = await locker.query('SELECT status FROM instances WHERE id = $1', [id])
      return rows[0].status
    }
    expect(await readStatus()).toBe('created')
    const status = await whileExhausted(key, async () => {
      await rentals.converge()
      return await readStatus()
    })
    expect(status).toBe('running')
  })

  it('the gateway is ready', async () => {
    const key = await app.newKey()
    const ready = await whileExhausted(key, async () => await app.fetch(new Request('http://berth.test/ready')))
    expect(ready.status).toBe(200)
  })
})

describe('a caller whose requests hold all of its places', () => {
  it('is refused in the shape of each face, over WebSockets, too', async () => {
    const key = await app.newKey()
    const server = await serveApp(app)
    const { say, heard, socket } = await openRawSocket(server.url)
    say({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } })
    await expect.poll(() => heard).toEqual([{ type: 'connection_ack' }])
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const post = (path: string, body: object) =>
      fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    await locker.query('BEGIN; LOCK TABLE templates IN ACCESS EXCLUSIVE MODE')
    try {
      const { placesOfOwner } = limitsFor(connections)
      const query = '{ templates(first: 1) { nodes { id } } }'
      const holding = Array.from({ length: placesOfOwner }, () => post('/graphql', { query }))
      // An owner leaves one of the four connections to others.
      await expect.poll(lockWaiters).toBe(connections - 1)
      const asked = ['/graphql', '/api/v0/bundles/'].map(path => post(path, { query: '{ __typename }' }))
      const [graphql, rest] = await Promise.all(asked)
      const message = 'The gateway has more requests than it can answer now. Try again in a moment.'
      expect([graphql?.status, rest?.status]).toEqual([503, 503])
      expect([graphql?.headers.get('retry-after'), rest?.headers.get('retry-after')]).toEqual(['1', '1'])
      expect(await graphql?.json()).toEqual({
        errors: [{ message, extensions: { code: 'UNAVAILABLE', retry: 'LATER' } }],
      })
      expect(await rest?.json()).toEqual({ success: false, error: 'unavailable', msg: message })
      await Promise.all(holding)
      for (let id = 0; id <= placesOfOwner; id += 1) say({ type: 'subscribe', id: `${id}`, payload: { query } })
      const payload = [{ message, extensions: { code: 'UNAVAILABLE', retry: 'LATER' } }]
      await expect.poll(() => heard).toContainEqual({ type: 'error', id: `${placesOfOwner}`, payload })
    } finally {
      await locker.query('ROLLBACK')
    }
    let asked = 0
    const askAgain = async () => {
      asked += 1
      const answers = () => heard.filter(({ id }) => id === `again ${asked}`)
      say({ type: 'subscribe', id: `again ${asked}`, payload: { query: '{ __typename }' } })
      await expect.poll(answers).not.toEqual([])
      return answers()[0]?.['payload']
    }
    await expect.poll(askAgain).toMatchObject({ data: { __typename: 'Query' } })
    socket.close()
    await server.close()
  })
})

describe('the connections of a gateway', () => {
  it('are shared between requests and due work', () => {
    const shares = [4, 5, 6, 10, 15, 200].map(size => shareConnections(size))
    expect(shares).toEqual([
      { requests: 2, work: 2 },
      { requests: 3, work: 2 },
      { requests: 4, work: 2 },
      { requests: 7, work: 3 },
      { requests: 10, work: 5 },
      { requests: 134, work: 66 },
    ])
  })
})
