import { expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
import { type OfferField, offerFields } from '../../../src/domain/offers/fields.ts'
import { defaultPricing, type Pricing } from '../../../src/domain/offers/offers.ts'
import { fieldColumnOf } from '../../../src/services/offers/sql/columns.ts'

const nowSql = Prisma.sql`now()`
const fields = Object.keys(offerFields) as OfferField[]
const pricings: Pricing[] = [defaultPricing, { rentalKind: 'interruptible', diskMb: 50_000 }]

it.each(fields)('the scope of %s names exactly the tables that its column reads', field => {
  for (const pricing of pricings) {
    const { scope, sql } = fieldColumnOf(field, { pricing, nowSql })
    const aliases = new Set([...sql.text.matchAll(/\b([a-z])\./g)].map(([, alias]) => alias))
    const needs = aliases.has('m') ? 'machine' : aliases.has('o') ? 'offer' : 'kind'
    expect(scope).toBe(needs)
  }
})

it.each(fields)('the column of %s names exactly the columns of machines that it reads', field => {
  const { sql, machineColumns = [] } = fieldColumnOf(field, { pricing: defaultPricing, nowSql })
  const read = new Set([...sql.text.matchAll(/\bm\.(\w+)/g)].map(([, column]) => column))
  expect([...read].toSorted()).toEqual([...machineColumns].toSorted())
})
