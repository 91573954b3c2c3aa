import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Figures, openFigures } from '../../../src/database/roles/figures.ts'
import { measureServices } from '../../../src/services/measures.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { urlAs } from '../../support/database/roles.ts'
import { withSession } from '../../support/database/sessions.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let gateway: Gateway
let rentals: Rentals
let figures: Figures
let key: string

beforeAll(async () => {
  app = await startApp({ metrics: true })
  gateway = openGateway({ url: app.database.url, now: app.clock.now })
  figures = openFigures(urlAs('metrics', app.database.url), gateway.database)
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(async () => {
  await figures.close()
  await gateway.close()
  await app.close()
})

const measure = () => measureServices(figures).measure()
const get = (at: TestApp, path: string, method = 'GET') => at.fetch(new Request(`http://berth.test${path}`, { method }))

describe('/metrics', () => {
  it('reports all metrics, including requests through the faces', async () => {
    await app.rest(key, 'GET', '/instances/987654/')
    const response = await get(app, '/metrics')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const text = await response.text()
    expect(text).toContain('berth_http_requests_total{face="rest",status="404"} 1\n')
    for (const kind of ['instances', 'policies', 'billing', 'webhooks'])
      expect(text).toContain(`berth_due_work{kind="${kind}"} `)
    expect(text).toContain('berth_database_up 1\n')
    expect(text).toContain('berth_outbox_lag_seconds ')
    expect(text).toContain('berth_event_loop_delay_max_seconds ')
    expect(text).not.toContain('987654')
  })

  it('answers 404 unless metrics are enabled', async () => {
    const silent = await startApp({ sharedApp: app })
    expect((await get(silent, '/metrics')).status).toBe(404)
    await silent.close()
  })

  it('refuses POST', async () => {
    expect((await get(app, '/metrics', 'POST')).status).toBe(405)
  })
})

describe('due work', () => {
  beforeEach(() => app.runUntilIdle())

  const readDue = async (kind: string) => (await measure()).due.find(due => due.kind === kind)

  it('on instances is counted, with the longest wait, until a gateway leases it', async () => {
    expect(await readDue('instances')).toEqual({ kind: 'instances', count: 0, lagSeconds: 0 })
    await rentals.rent(key)
    app.clock.advance(20_000)
    await rentals.rent(key)
    app.clock.advance(10_000)
    expect(await readDue('instances')).toEqual({ kind: 'instances', count: 2, lagSeconds: 30 })
    await gateway.reconciliation.leaseDue(1)
    expect(await readDue('instances')).toMatchObject({ count: 1 })
    app.clock.advance(31_000)
    await app.runUntilIdle()
    expect(await readDue('instances')).toMatchObject({ count: 0 })
  })

  it('on policies is counted', async () => {
    await rentals.rent(key, {}, { listedUntil: new Date(app.clock.now().getTime() + 3_600_000) })
    app.clock.advance(7_000)
    expect(await readDue('policies')).toEqual({ kind: 'policies', count: 1, lagSeconds: 7 })
    await app.runUntilIdle()
    expect(await readDue('policies')).toMatchObject({ count: 0 })
  })

  it('on accounts is counted', async () => {
    await app.operations.accounts.grantCredit('renter-1@example.com', { amountNanos: 1n })
    app.clock.advance(9_000)
    expect(await readDue('billing')).toEqual({ kind: 'billing', count: 1, lagSeconds: 9 })
    await app.runUntilIdle()
    expect(await readDue('billing')).toEqual({ kind: 'billing', count: 0, lagSeconds: 0 })
  })
})

it('reports events that wait for an open transaction', async () => {
  await withSession(app.database.url, async session => {
    await session.query('BEGIN')
    await session.query('SELECT pg_current_xact_id()')
    const { eventsWaiting: before } = await measure()
    await rentals.rent(key)
    const { eventsWaiting, outboxLagSeconds } = await measure()
    expect(eventsWaiting).toBeGreaterThan(before)
    expect(outboxLagSeconds).toBeGreaterThan(0)
    await session.query('COMMIT')
  })
})
