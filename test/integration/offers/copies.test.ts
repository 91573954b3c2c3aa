import { afterAll, beforeAll, expect, it } from 'vitest'
import { seedMarket } from '../../../prisma/seed.ts'
import { scoreOf } from '../../../src/domain/offers/offers.ts'
import { startApp, type TestApp } from '../../support/app.ts'

let app: TestApp

beforeAll(async () => {
  app = await startApp()
  await seedMarket(app.operations, { machines: 20 })
})

afterAll(() => app.close())

it.each([
  "country = 'IS'",
  "verification = CASE verification WHEN 'verified' THEN 'deverified'::verification ELSE 'verified' END",
  'reliability = reliability / 2',
  "listed_until = listed_until + interval '1 day'",
  'disk_price_per_gb_month_nanos = 2 * disk_price_per_gb_month_nanos',
])('offers follow their machine when %s', async change => {
  await app.sql(`UPDATE machines SET ${change} WHERE id % 2 = 0`)
  const rows = (await app.sql(
    `SELECT o.*, (o.country, o.verified, o.reliability, o.listed_until, o.disk_price_per_gb_month_nanos)
       = (m.country, m.verification = 'verified', m.reliability, m.listed_until, m.disk_price_per_gb_month_nanos) AS agrees
     FROM offers o JOIN machines m ON m.id = o.machine_id WHERE o.withdrawn_at IS NULL`,
  )) as { agrees: boolean; score: number; dlperf: number; price_nanos: string; reliability: number }[]
  expect(rows.length).toBeGreaterThan(20)
  for (const { agrees, score, dlperf, price_nanos: price, reliability } of rows) {
    expect(agrees).toBe(true)
    expect(score).toBe(scoreOf(dlperf, BigInt(price), reliability))
  }
})
