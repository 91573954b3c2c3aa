// A gateway that is asked twice as much as it can answer: those that are answered are answered soon, the others are told at
// once, due work goes on, and afterwards all is as before. OVERLOAD_SECONDS says for how long.

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadRequest } from '../../support/load/client.ts'
import { describeLoad, type LoadReport, quantile, sendLoad } from '../../support/load/load.ts'
import { startLoadSite } from '../../support/load/site.ts'
import { measureUsage } from '../../support/processes/usage.ts'

const seconds = Number(process.env['OVERLOAD_SECONDS'] ?? 60)
/** How long each other part takes. */
const shortSeconds = Math.min(10, Math.max(4, seconds / 6))

let site: Awaited<ReturnType<typeof startLoadSite>>
let requests: LoadRequest[]

beforeAll(async () => {
  // Its limits of requests would refuse some before it is overloaded.
  site = await startLoadSite({ env: { RATE_LIMIT_POINTS_PER_SECOND: '0' } })
  const rented = await Promise.all(site.keys.map(rent))
  requests = site.keys.flatMap((key, index) => requestsOf(key, rented[index] ?? 0))
})

afterAll(async () => {
  await site.stop()
})

const headersOf = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })

function requestsOf(key: string, instance: number): LoadRequest[] {
  const headers = headersOf(key)
  const graphql = (query: string) => ({ method: 'POST', path: '/graphql', headers, body: JSON.stringify({ query }) })
  return [
    graphql('{ viewer { account { credit } } }'),
    graphql('{ offers(first: 10, filter: { numGpus: { gte: 2 } }) { nodes { id price { pricePerHour } } } }'),
    graphql('{ instances(first: 10) { nodes { id status label } } }'),
    { method: 'POST', path: '/api/v0/bundles/', headers, body: '{"limit":5,"gpu_name":{"eq":"RTX 4090"}}' },
    { method: 'GET', path: '/api/v0/instances/', headers },
    { method: 'PUT', path: `/api/v0/instances/${instance}/`, headers, body: '{"label":"busy"}' },
  ]
}

/** Rents as a client does: after a refusal that says when to try again, it does. Returns the id of the instance. */
async function rent(key: string): Promise<number> {
  for (;;) {
    const headers = headersOf(key)
    const search = await fetch(`${site.url}/api/v0/bundles/`, { method: 'POST', headers, body: '{"limit":50}' })
    const { offers = [] } = (await search.json()) as { offers?: { id: number }[] }
    const offer = offers[Math.floor(Math.random() * offers.length)]
    if (offer) {
      const body = JSON.stringify({ image: 'ubuntu', disk: 10 })
      const answer = await fetch(`${site.url}/api/v0/asks/${offer.id}/`, { method: 'PUT', headers, body })
      if (answer.ok) return ((await answer.json()) as { new_contract: number }).new_contract
    }
    await sleep(200)
  }
}

const load = (pace: { rate: number } | { clients: number }, lasting = shortSeconds) =>
  sendLoad({ url: site.url, requests, seconds: lasting, pace })

/** How late the oldest due work is, of all kinds. */
async function readLagMs(): Promise<number> {
  const oldest = (table: string, due: string, leased: string) =>
    `SELECT min(${due}) AS due FROM ${table} WHERE ${due} <= now() AND (${leased} IS NULL OR ${leased} <= now())`
  const [row] = await site.sql(`
    SELECT coalesce(extract(epoch FROM clock_timestamp() - min(due)), 0)::float * 1000 AS ms FROM (
      ${oldest('instance_looks', 'due_at', 'leased_until')}
      UNION ALL ${oldest('instances', 'policy_due_at', 'policy_leased_until')}
      UNION ALL ${oldest('accounts', 'billing_due_at', 'billing_leased_until')}
      UNION ALL ${oldest('webhook_deliveries', 'due_at', 'leased_until')}
    ) work`)
  return Number(row?.ms)
}

/** Looks at due work and at the memory while something runs. */
async function watch<Result>(work: Promise<Result>) {
  let isOver = false
  const [lagsMs, memoryMb]: [number[], number[]] = [[], []]
  const watching = Promise.all([
    (async () => {
      for (; !isOver; await sleep(100)) lagsMs.push(await readLagMs())
    })(),
    (async () => {
      while (!isOver) memoryMb.push((await measureUsage([site.gateway], 500))[0]?.memoryMb ?? 0)
    })(),
    (async () => {
      for (let n = 0; !isOver; n += 1, await sleep(500)) await rent(site.keys[n % site.keys.length] as string)
    })(),
  ])
  const result = await work
  isOver = true
  await watching
  return { result, lagsMs, memoryMb }
}

const print = (name: string, report: LoadReport) =>
  process.stdout.write(`${name}: ${JSON.stringify(describeLoad(report))}\n`)

describe('a gateway under twice the load that it can answer', () => {
  it('answers some requests as before, refuses the others at once, and does due work in time', async () => {
    await load({ clients: 16 })
    const atCapacity = await load({ clients: 16 })
    const capacity = describeLoad(atCapacity).perSecond
    print('at capacity', atCapacity)
    const below = await load({ rate: capacity * 0.7 })
    print('at 70 %', below)
    const { result: above, lagsMs, memoryMb } = await watch(load({ rate: capacity * 2 }, seconds))
    print('at 200 %', above)
    process.stdout.write(
      `due work: ${Math.round(quantile(lagsMs, 0.99))} ms late in 99 % of ${lagsMs.length} looks, ` +
        `${Math.round(Math.max(...lagsMs))} ms at most; memory: ${memoryMb.join(' ')} MB\n`,
    )
    const afterwards = await load({ rate: capacity * 0.3 })
    const third = Math.floor(memoryMb.length / 3)
    print('afterwards', afterwards)
    const calm = describeLoad(below)
    const busy = describeLoad(above)
    const after = describeLoad(afterwards)
    expect(busy).toMatchObject({ failures: {}, unsaid: 0 })
    expect(busy.refused).toBeGreaterThan(0)
    expect(busy.perSecond).toBeGreaterThan(capacity / 2)
    expect(busy.p99).toBeLessThan(Math.max(600, 8 * calm.p99))
    expect(busy.refusedP99).toBeLessThan(1_000)
    // A claim takes longer to notice than to do: the gateway looks each second.
    expect(quantile(lagsMs, 0.99)).toBeLessThan(3_000)
    const [early, late] = [memoryMb.slice(third, 2 * third), memoryMb.slice(2 * third)].map(part => quantile(part, 0.5))
    expect(late).toBeLessThan(1.1 * (early ?? 0))
    expect(after).toMatchObject({ failures: {}, refused: 0 })
    expect(after.p99).toBeLessThan(Math.max(300, 3 * calm.p99))
  })
})
