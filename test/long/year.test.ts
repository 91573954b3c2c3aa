// A fleet after a year, beside the same fleet at its beginning: what requests and loops cost in both, in CPU time of PostgreSQL.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../support/app.ts'
import { createCpuClock } from '../support/database/cpu.ts'
import { type FilledData, fillWithRentals } from '../support/database/data-shapes.ts'
import { addYear, skipIds } from '../support/database/year.ts'
import { rentalsOf } from '../support/instances/rentals.ts'

const running = Number(process.env['YEAR_RUNNING'] ?? 500)
const accounts = 20
/** How much dearer it may be after a year. */
const [maxRatio, slackMs] = [1.5, 0.3]

type Fleet = { app: TestApp; data: FilledData; cpuMs: () => Promise<number>; ids: number[] }
let fleets: { empty: Fleet; year: Fleet }

async function makeFleet(withYear: boolean): Promise<Fleet> {
  const app = await startApp()
  const data = await fillWithRentals(app, [{ accounts, rentalsEach: (3 * running) / accounts }])
  // Limits of a month read the charges of the month, which the fleet at its beginning does not have.
  await app.sql('DELETE FROM spend_limits')
  // Offers can be rented only if they agree with their machines, which the copies do not in every fact.
  await app.sql(`UPDATE machines SET (disk_price_per_gb_month_nanos, reliability) =
    (SELECT disk_price_per_gb_month_nanos, reliability FROM machines WHERE id = ${data.machineId}) WHERE id <> ${data.machineId}`)
  if (withYear) await addYear(app, running, data)
  await skipIds(app)
  // Each table has its usual statistics.
  if (!withYear) await app.sql('VACUUM ANALYZE')
  const fleet = { app, data, cpuMs: createCpuClock(app.sql), ids: [] as number[] }
  for (let count = 0; count < 64; count += 1) fleet.ids.push(await rent(fleet))
  await rentalsOf(app).converge()
  // Gets the copies of the fleet to their steady state.
  for (let count = 0; count < 3; count += 1) await look(fleet)
  return fleet
}

beforeAll(async () => {
  fleets = { empty: await makeFleet(false), year: await makeFleet(true) }
}, 3_600_000)

afterAll(async () => {
  for (const { app } of Object.values(fleets ?? {})) await app.close()
})

async function findOffer({ app, data }: Fleet): Promise<number> {
  const query = { num_gpus: { eq: 1 }, rentable: { eq: true }, order: [['dph_total', 'asc']], limit: 20 }
  const { body } = await app.rest(data.renter, 'POST', '/bundles/', query)
  return body.offers[Math.floor(Math.random() * body.offers.length)].id
}

async function rent(fleet: Fleet, offer?: number): Promise<number> {
  const { app, data } = fleet
  const answer = await app.rest(data.renter, 'PUT', `/asks/${offer ?? (await findOffer(fleet))}/`, { image: 'ubuntu' })
  expect(answer).toMatchObject({ status: 200 })
  return answer.body.new_contract
}

async function ask({ app, data }: Fleet, query: string): Promise<void> {
  expect((await app.graphql(data.renter, `{ ${query} }`)).errors).toBeUndefined()
}

/** Looks at each running instance once. */
async function look({ app }: Fleet): Promise<void> {
  await app.sql(`UPDATE instance_looks SET due_at = '${app.clock.now().toISOString()}' WHERE due_at IS NOT NULL`)
  await app.runUntilIdle()
}

const month = (months: number) => {
  const start = new Date(Date.UTC(2026, 10 - months, 1)).toISOString()
  return `startsAt: "${start}", endsAt: "${new Date(Date.UTC(2026, 11 - months, 1)).toISOString()}"`
}

/** `prepare` and `finish` are not measured. `rounds`: how often it is done in each fleet. */
type Work<Prepared> = {
  rounds: number
  prepare?: (fleet: Fleet) => Promise<Prepared>
  run: (fleet: Fleet, prepared: Prepared) => Promise<unknown>
  finish?: (fleet: Fleet, made: never) => Promise<unknown>
}

// biome-ignore lint/suspicious/noExplicitAny: each has values of its own
const works: Record<string, Work<any>> = {
  'rents an offer': {
    rounds: 40,
    prepare: findOffer,
    run: rent,
    async finish({ app, data }, id: number) {
      await app.rest(data.renter, 'DELETE', `/instances/${id}/`)
      await app.runUntilIdle()
    },
  },
  'stops and starts 64 instances': {
    rounds: 10,
    async run({ app, data, ids }) {
      for (const state of ['stopped', 'running'])
        expect((await app.rest(data.renter, 'PUT', '/instances/', { ids, state })).status).toBe(200)
    },
    finish: async ({ app }) => await app.runUntilIdle(),
  },
  'searches offers': { rounds: 40, run: findOffer },
  'reads a page of events': {
    rounds: 40,
    run: fleet => ask(fleet, 'events(last: 50) { nodes { id kind createdAt } }'),
  },
  'reads a page of instances with their events': {
    rounds: 20,
    run: fleet => ask(fleet, 'instances(first: 50) { nodes { id events(last: 5) { nodes { id kind } } } }'),
  },
  'reads the ledger': {
    rounds: 40,
    run: fleet => ask(fleet, 'viewer { account { ledger(last: 50) { nodes { id } } } }'),
  },
  'looks at the fleet': { rounds: 6, run: look },
}

async function measure({ rounds, prepare, run, finish }: Work<unknown>) {
  const costs = { empty: [] as number[], year: [] as number[] }
  for (let round = 0; round < rounds + 3; round += 1)
    for (const [name, fleet] of Object.entries(fleets) as ['empty' | 'year', Fleet][]) {
      const prepared = await prepare?.(fleet)
      const before = await fleet.cpuMs()
      const made = await run(fleet, prepared)
      // The first rounds prepare statements.
      const cost = (await fleet.cpuMs()) - before
      if (round >= 3) costs[name].push(cost)
      await finish?.(fleet, made as never)
    }
  return { empty: median(costs.empty), year: median(costs.year) }
}

const median = (values: number[]) => values.toSorted((one, other) => one - other)[values.length >> 1] as number

describe(`a fleet of ${running} running instances after a year`, () => {
  it.each(Object.keys(works))('%s for little more than at its beginning', async name => {
    const { empty, year } = await measure(works[name] as Work<unknown>)
    process.stdout.write(`${name}: ${empty.toFixed(2)} ms, after a year ${year.toFixed(2)} ms\n`)
    expect(year).toBeLessThan(maxRatio * empty + slackMs)
  })

  it('reads the usage of a month long ago like that of the last month', async () => {
    const { app, data } = fleets.year
    const costs: Record<number, number[]> = { 1: [], 11: [] }
    for (let round = 0; round < 8; round += 1)
      for (const months of [1, 11]) {
        const before = await fleets.year.cpuMs()
        const query = `{ viewer { account { usage(${month(months)}) { cost } } } }`
        expect((await app.graphql(data.renter, query)).errors).toBeUndefined()
        if (round >= 3) costs[months]?.push((await fleets.year.cpuMs()) - before)
      }
    const [last, longAgo] = [median(costs[1] as number[]), median(costs[11] as number[])]
    process.stdout.write(`usage: ${last.toFixed(2)} ms, eleven months ago ${longAgo.toFixed(2)} ms\n`)
    expect(longAgo).toBeLessThan(maxRatio * last + slackMs)
  })
})
