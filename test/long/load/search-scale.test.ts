import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seedMarket } from '../../../prisma/seed.ts'
import { type Database, openDatabase } from '../../../src/database/client.ts'
import { Prisma } from '../../../src/database/generated/client.ts'
import type { OfferField } from '../../../src/domain/offers/fields.ts'
import { type Condition, type Operator, parseCondition } from '../../../src/domain/offers/filter.ts'
import type { Pricing } from '../../../src/domain/offers/offers.ts'
import { completeOrder, type OrderKey } from '../../../src/domain/offers/order.ts'
import { fieldColumnOf } from '../../../src/services/offers/sql/columns.ts'
import { andSql, filterSql } from '../../../src/services/offers/sql/filter.ts'
import { searchStatement } from '../../../src/services/offers/sql/statement.ts'
import { createOperations } from '../../../src/services/operations.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { urlAs } from '../../support/database/roles.ts'

/** Two markets, one ten times as large as the other. A search should read about as many pages in both. */
const sizes = [5_000, 50_000] as const

type Market = { test: TestDatabase; database: Database }
let markets: Market[]

beforeAll(async () => {
  markets = await Promise.all(sizes.map(makeMarket))
})

afterAll(async () => {
  for (const { test, database } of markets) {
    await database.close()
    await test.drop()
  }
})

async function makeMarket(machines: number): Promise<Market> {
  const test = await createDatabase()
  const database = openDatabase({ url: urlAs('app', test.url), poolSize: 2, onIdleError: () => {} })
  await seedMarket(createOperations({ database }), { machines })
  // A third of the machines are rented.
  await runStatements(test, 'UPDATE offers SET rentable = false WHERE machine_id % 3 = 0', 'VACUUM ANALYZE')
  return { test, database }
}

async function runStatements(test: TestDatabase, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: test.url })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}

const now = new Date()
const onDemand: Pricing = { rentalKind: 'onDemand', diskMb: 8_000 }
const rentable: ConditionTuple = ['rentable', 'eq', true]
const verified: ConditionTuple = ['verified', 'eq', true]
const twoModels: ConditionTuple = ['gpuName', 'in', ['RTX 4090', 'H100 SXM']]
const cheapest: OrderKey[] = [{ field: 'pricePerHour', direction: 'asc' }]

type ConditionTuple = [OfferField, Operator, unknown]
type SearchCase = [what: string, filter: ConditionTuple[], order: OrderKey[], pricing: Pricing]

const cases: SearchCase[] = [
  ['two models, verified', [rentable, verified, twoModels], cheapest, onDemand],
  ['two models, a disk of 5 GB', [rentable, verified, twoModels], cheapest, { ...onDemand, diskMb: 5_000 }],
  ['any model, verified', [rentable, verified], cheapest, onDemand],
  ['any model, unverified', [rentable, ['verified', 'eq', false]], cheapest, onDemand],
  ['any model, verified or not', [rentable], cheapest, onDemand],
  [
    'eight GPUs, reliable',
    [rentable, verified, ['numGpus', 'gte', 8], ['reliability', 'gte', 0.99]],
    cheapest,
    onDemand,
  ],
  ['bids', [rentable, verified], cheapest, { rentalKind: 'interruptible', diskMb: 8_000 }],
  ['the best score', [rentable, verified], [{ field: 'score', direction: 'desc' }], onDemand],
  ['the cheapest GPU', [rentable, verified], [{ field: 'pricePerGpuHour', direction: 'asc' }], onDemand],
  ['the most GPUs', [rentable, verified], [{ field: 'numGpus', direction: 'desc' }], onDemand],
  ['one machine', [['machineId', 'eq', 4_001]], cheapest, onDemand],
]
/** Searches that read all or most of the matching offers. */
const largeReads: SearchCase[] = [
  ['a disk of 200 GB', [rentable, verified], cheapest, { ...onDemand, diskMb: 200_000 }],
  ['rented offers', [['rentable', 'eq', false], verified], cheapest, onDemand],
  ['the most reliable', [rentable, verified], [{ field: 'reliability', direction: 'desc' }], onDemand],
  [
    'the best performance per dollar',
    [rentable, verified],
    [{ field: 'dlperfPerDollar', direction: 'desc' }],
    onDemand,
  ],
  ['a country', [rentable, verified, ['country', 'eq', 'US']], cheapest, onDemand],
]

describe(`a search among the offers of ${sizes.join(' and of ')} machines`, () => {
  it.each(cases)('for %s reads about the same number of pages in both markets', async (...[what, ...search]) => {
    const [pagesInSmall = 0, pagesInLarge = 0] = await comparePlans(what, ...search)
    // A small market fills some pages only partly.
    expect(pagesInLarge / pagesInSmall).toBeLessThan(3)
  })

  it.each(largeReads)('for %s finds the same offers as a plain query', async (...[what, ...search]) => {
    await comparePlans(what, ...search)
  })
})

/** Returns the pages that the statement reads in each market. Checks that a plain query finds the same offers. */
async function comparePlans(
  what: string,
  filter: ConditionTuple[],
  order: OrderKey[],
  pricing: Pricing,
): Promise<number[]> {
  const conditions = filter.map(([field, operator, operand]) => parseCondition(field, operator, operand) as Condition)
  const search = {
    filter: { conditions, anyOf: [] },
    pricing,
    bundled: true,
    nowSql: Prisma.sql`${now}::timestamptz`,
    limits: { offers: 2_000, machines: 3_000, count: 10_000 },
  }
  const keys = completeOrder(order)
  const plainOrder = keys.map(
    ({ field, direction }) => Prisma.sql`${fieldColumnOf(field, search).sql} ${Prisma.raw(direction)}`,
  )
  const plain = Prisma.sql`
    SELECT o.id FROM offers o JOIN machines m ON m.id = o.machine_id JOIN gpu_models g ON g.id = o.gpu_model_id
    JOIN offer_kinds k ON k.gpu_model_id = o.gpu_model_id AND k.num_gpus = o.num_gpus
    WHERE o.withdrawn_at IS NULL AND ${andSql(filterSql(search.filter, search))}
    AND ${Prisma.raw(pricing.rentalKind === 'onDemand' ? 'o.leads' : 'o.leads_bids')} ORDER BY ${Prisma.join(plainOrder)} LIMIT 20`
  const pages: number[] = []
  for (const [index, { database }] of markets.entries()) {
    const optimized = await measure(
      database,
      searchStatement(
        search,
        { keys, after: undefined, limit: 20 },
        { columns: Prisma.sql`o.id`, joins: Prisma.empty },
      ),
    )
    const plainResult = await measure(database, plain)
    expect(optimized.ids).toEqual(plainResult.ids)
    expect(optimized.ids).not.toHaveLength(0)
    const figures = `${optimized.pages} pages in ${optimized.ms} ms; plain ${plainResult.pages} pages in ${plainResult.ms} ms`
    process.stdout.write(`${what}, ${sizes[index]} machines: ${figures}\n`)
    pages.push(optimized.pages)
  }
  return pages
}

type Plan = { 'Shared Hit Blocks': number; 'Shared Read Blocks': number }

/** Counts pages, because times vary. Runs the statement once before, so that its pages are in memory. */
async function measure({ pool }: Database, { text, values }: Prisma.Sql) {
  const { rows } = await pool.query({ text, values, rowMode: 'array' })
  const explained = await pool.query({ text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values })
  const [result] = explained.rows[0]['QUERY PLAN'] as [{ Plan: Plan; 'Execution Time': number }]
  const pages = result.Plan['Shared Hit Blocks'] + result.Plan['Shared Read Blocks']
  return { ids: rows.map(([id]) => id as string), pages, ms: Number(result['Execution Time'].toFixed(2)) }
}
