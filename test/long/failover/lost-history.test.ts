// A cluster that replicates asynchronously loses its last changes with its primary. Machines and renters remember them.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import { findUnsettledInstances } from '../../support/crashes/invariants.ts'
import { createClient } from '../../support/failover/client.ts'
import { type OutsideHost, startOutsideHost } from '../../support/failover/host.ts'
import { type Loss, loseHistory, offerId, within } from '../../support/failover/lose.ts'
import { failoverObstacle } from '../../support/failover/programs.ts'
import { type FailoverSite, openSite } from '../../support/failover/site.ts'
import { type Subscription, subscribeSse } from '../../support/streams.ts'

const obstacle = failoverObstacle()
if (obstacle) process.stdout.write(`No history was lost: ${obstacle}.\n`)

describe.skipIf(obstacle)('after a cluster has lost its last changes', () => {
  let site: FailoverSite
  let host: OutsideHost
  let stream: Subscription
  let loss: Loss
  let clients: [ReturnType<typeof createClient>, ReturnType<typeof createClient>]
  /** What Berth noted of the fail-over. */
  let noted: Record<string, unknown>

  beforeAll(async () => {
    site = await openSite({ synchronous: false, machines: 1 })
    host = await startOutsideHost(site, 1)
    const [{ apiKey }, urls] = [site.renters[0] as (typeof site.renters)[number], site.fleet.urls()]
    clients = urls.map(url => createClient(url, apiKey)) as typeof clients
    const query = 'subscription { events { cursor } }'
    stream = await subscribeSse(fetch, apiKey, query, { url: `${urls[0]}/graphql` })
    loss = await loseHistory(site, host, clients)
    const rows = await site.sql('SELECT * FROM failovers')
    expect(rows).toHaveLength(1)
    noted = rows[0] ?? {}
  })
  afterAll(async () => {
    await host?.close()
    await site?.close()
  })

  const count = async (text: string, ...values: unknown[]) =>
    Number((await site.sql(`SELECT count(*) FROM ${text}`, values))[0]?.['count'])

  it('gateways write again by themselves, and one of them says since when changes may be lost', async () => {
    expect(Math.max(...loss.recovery.gatewaysMs)).toBeLessThan(10_000)
    expect(noted).toMatchObject({ witnessed: true })
    const completeUntil = noted['complete_until'] as Date
    expect(completeUntil.getTime()).toBeLessThanOrEqual(loss.cutMs)
    expect(completeUntil.getTime()).toBeGreaterThan(loss.cutMs - 10_000)
    const warnings = site.fleet.logLinesFrom(40).filter(({ msg }) => msg.includes('failed over'))
    expect(warnings).toMatchObject([{ completeUntil: completeUntil.toISOString() }])
    const left = { events: await count('events WHERE created_at <= $1', completeUntil) }
    process.stdout.write(`${JSON.stringify({ ...loss.recovery, written: loss.written, left })}\n`)
  })

  it('cursors of both times have expired, and streams say so', async () => {
    for (const { codeOf } of clients)
      for (const cursor of loss.cursors)
        expect(await codeOf(`{ events(first: 1, after: "${cursor}") { nodes { id } } }`)).toBe('CURSOR_EXPIRED')
    expect((await stream.readToEnd()).at(-1)?.errors?.[0]?.extensions['code']).toBe('CURSOR_EXPIRED')
  })

  it.each([
    ['made', 'UNAUTHENTICATED'],
    ['revoked', undefined],
  ] as const)('an API key that was %s is as it was before', async (key, code) => {
    for (const url of site.fleet.urls()) {
      const client = createClient(url, loss.keys[key])
      await expect.poll(() => client.codeOf('{ viewer { account { id } } }'), { timeout: 10_000 }).toBe(code)
    }
  })

  it('the container of a lost rental is removed, and what a lost stop has stopped runs again', async () => {
    const { kept, stopped, lost } = loss.instances
    expect((await clients[0].ask(`{ instance(id: "${lost}") { id } }`)).data.instance).toBe(null)
    await expect.poll(host.containers, within).toEqual({ [kept]: true, [stopped]: true })
  })

  it('a lost rental can be repeated with its key, and gets an id that was never given', async () => {
    const { kept, stopped } = loss.instances
    const offer = await offerId(site)
    const again = await clients[1].rent(offer, 'lost')
    expect(BigInt(again)).toBeGreaterThan(BigInt(String(noted['instances_until'])))
    expect(await clients[0].rent(offer, 'lost')).toBe(again)
    await expect.poll(host.containers, within).toEqual({ [kept]: true, [stopped]: true, [again]: true })
    await expect.poll(() => findUnsettledInstances(site.sql), within).toEqual([])
    const running = await site.sql("SELECT id FROM instances WHERE status = 'running' ORDER BY id")
    expect(running.map(({ id }) => id)).toEqual([kept, stopped, again])
    expect(await count('gpus WHERE occupant_id = holder_id')).toBe(3)
    expect(await count('gpus WHERE occupant_id IS DISTINCT FROM holder_id')).toBe(0)
  })

  it('the ledger has no trace of what was lost, and agrees with itself', async () => {
    expect(await count("ledger_entries WHERE idempotency_key = 'lost'")).toBe(0)
    expect(await count('meters WHERE instance_id = $1', loss.instances.lost)).toBe(0)
    expect(await brokenLaws(site.sql)).toEqual([])
  })

  it('the old primary comes back as a standby', async () => {
    loss.old.link.heal()
    loss.old.start()
    await site.cluster.untilComplete()
    expect(await count('failovers')).toBe(1)
  })
})
