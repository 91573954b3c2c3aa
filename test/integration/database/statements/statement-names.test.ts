// Which statements have a name and are prepared. A connection keeps prepared statements until it closes, so their
// number must be limited.

import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../../support/app.ts'
import { captureStatements, type Statement } from '../../../support/database/captured-statements.ts'
import { type Rentals, rentalsOf, someCredit } from '../../../support/instances/rentals.ts'
import { subscribeSse } from '../../../support/streams.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
  await rentals.rentToStatus(key, 'running')
})

afterAll(() => app.close())

const namesOf = (statements: Statement[]) => new Set(statements.flatMap(({ name }) => name ?? []))

/** Picks the parts of a filter whose bits are set in `number`. Each number gives another statement text. */
function pickFilterParts(number: number, parts: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parts).filter((_, bit) => (number & (1 << bit)) > 0))
}

const offerFilter = {
  ...{
    num_gpus: { eq: 1 },
    gpu_ram: { gte: 1 },
    cpu_ram: { gte: 1 },
    disk_space: { gte: 1 },
    cuda_max_good: { gte: 1 },
  },
  ...{ reliability: { gte: 0 }, inet_up: { gte: 0 }, inet_down: { gte: 0 }, dph_total: { lte: 100 } },
}
const instanceFilter = {
  ...{ label: { eq: null }, num_gpus: { gte: 1 }, gpu_ram: { gte: 1 }, cpu_ram: { gte: 1 }, id: { gte: 1 } },
}
const queries = [
  {
    text: 'query ($filter: InstanceFilter) { instances(filter: $filter) { totalCount nodes { id } } }',
    filter: {
      label: { eq: 'a' },
      status: ['RUNNING'],
      gpuName: { eq: 'x' },
      targetState: 'RUNNING',
      idempotencyKey: 'k',
    },
  },
  {
    text: 'query ($filter: TemplateFilter) { templates(filter: $filter) { totalCount nodes { id } } }',
    filter: { mine: true, name: { contains: 'a' }, public: false },
  },
  {
    text: 'query ($filter: VolumeOfferFilter) { volumeOffers(filter: $filter) { totalCount nodes { id } } }',
    filter: { datacenter: true, country: { eq: 'SE' }, gpuName: { eq: 'x' }, machineId: { eq: 'mch_1' } },
  },
  {
    text: 'query ($filter: EventFilter) { events(filter: $filter) { nodes { id } } }',
    filter: { kinds: ['INSTANCE_CREATED'], subjectIds: ['ins_1'] },
  },
  {
    text: 'query ($filter: LedgerFilter) { viewer { account { ledger(filter: $filter) { totalCount nodes { id } } } } }',
    filter: {
      kinds: ['TOP_UP'],
      subjectIds: ['ins_1'],
      postedAt: { gte: '2026-01-01T00:00:00Z', lt: '2027-01-01T00:00:00Z' },
    },
  },
]

it('names few statements of 500 forms of filters, and then every statement of a rental', async () => {
  const searched = await captureStatements(async () => {
    for (let number = 0; number < 500; number += 1) {
      const body = { ...pickFilterParts(number, offerFilter), limit: 1 }
      expect(await app.rest(key, 'POST', '/bundles/', body)).toMatchObject({ status: 200 })
    }
    for (let number = 0; number < 32; number += 1) {
      const filters = encodeURIComponent(JSON.stringify(pickFilterParts(number, instanceFilter)))
      expect(await app.rest(key, 'GET', `/api/v1/instances/?select_filters=${filters}`)).toMatchObject({ status: 200 })
      for (const { text, filter } of queries)
        expect((await app.graphql(key, text, { filter: pickFilterParts(number, filter) })).errors).toBeUndefined()
    }
    for (const fields of ['name', 'name vendor', 'name gpuRamMb', 'name vendor gpuRamMb'])
      expect((await app.graphql(key, `{ gpuModels { ${fields} } }`)).errors).toBeUndefined()
  })
  expect(new Set(searched.map(({ text }) => text)).size).toBeGreaterThan(500)
  // Of the texts that repeat, 10 get a name at their third use; each further 10 need twice as many uses.
  expect([...namesOf(searched)].length).toBeLessThan(40)

  const offer = await rentals.newOffer()
  const rented = await captureStatements(async () => {
    const { body } = await app.rest(key, 'PUT', `/asks/${offer}/`, { image: 'ubuntu' })
    expect(await app.rest(key, 'DELETE', `/instances/${body.new_contract}/`)).toMatchObject({ status: 200 })
  })
  const dataStatements = rented.filter(({ text }) => /^\s*(WITH|SELECT|UPDATE|INSERT|DELETE)\b/.test(text))
  expect(dataStatements.length).toBeGreaterThan(15)
  expect(dataStatements.filter(({ name }) => name === undefined).map(({ text }) => text)).toEqual([])
}, 120_000)

it('names no statement that finds the offers of a stream before it repeats', async () => {
  const filters = ['', ', verified: true', ', gpuRamMb: {gte: 1}']
  const captured = await captureStatements(async () => {
    for (const more of filters) {
      const query = `subscription { offerChanges(filter: {gpuName: {eq: "RTX 4090"}${more}}) { kind } }`
      const { status, close } = await subscribeSse(app.fetch, key, query)
      expect(status).toBe(200)
      await close()
    }
  })
  const searches = captured.filter(({ text }) => text.includes('o.machine_id') && text.includes('LIMIT'))
  expect(searches.length).toBeGreaterThanOrEqual(filters.length)
  expect([...namesOf(searches)]).toEqual([])
})

it('gives a statement the same name in every process, whatever the earlier statements', () => {
  const program = (texts: string[]) => `
    import { runStatement } from './src/database/rows.ts'
    const named = []
    const query = async ({ name, text }) => named.push([text, name]) && { rows: [] }
    for (const text of ${JSON.stringify(texts)}) await runStatement({ query }, { text, values: [] }, () => '')
    console.log(JSON.stringify(Object.fromEntries(named)))`
  const namesIn = (...texts: string[]) =>
    JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', program(texts)], { encoding: 'utf8' }))
  const names = namesIn('SELECT 1', 'SELECT 2')
  expect(new Set(Object.values(names)).size).toBe(2)
  expect(namesIn('SELECT 2', 'SELECT 1')).toEqual(names)
})
