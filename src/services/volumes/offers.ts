import { Prisma } from '../../database/generated/client.ts'
import { int4 } from '../../database/row-types.ts'
import { type Reading, readingOf } from '../../database/selection/reading.ts'
import type { Selected, SelectOf } from '../../database/selection/selected.ts'
import { withoutStatementName } from '../../database/statement-names.ts'
import type { Actor } from '../../domain/actor.ts'
import { defaultPricing } from '../../domain/offers/offers.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import {
  parseVolumeOfferCursor,
  printVolumeOfferCursor,
  requireVolumeSizeMb,
  type VolumeOffer,
  type VolumeOfferCondition,
  type VolumeOfferOrder,
} from '../../domain/volumes/offers.ts'
import { volumeSizeGb } from '../../domain/volumes/volumes.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { machineSource, wholeMachine } from '../machines/source.ts'
import { conditionSql } from '../offers/sql/filter.ts'

/** All conditions must hold, and a volume of `sizeGb` must fit. */
export type VolumeOfferSearch = { conditions: VolumeOfferCondition[]; sizeGb: number; order: VolumeOfferOrder }

/** What a read asks of volume offers. */
type VolumeOfferSelect = SelectOf<VolumeOffer> & { readonly id: true }

const { sql, join, raw } = Prisma

// `o` has the machine columns that GPU offers repeat, so that `conditionSql` works for both kinds of offers.
const fromSql = sql`machines m JOIN gpu_models g ON g.id = m.gpu_model_id
  CROSS JOIN LATERAL (
    SELECT m.id AS machine_id, m.country, m.verification = 'verified' AS verified, m.reliability, m.disk_price_per_gb_month_nanos, m.listed_until
  ) o`

const orderColumns = {
  price: { column: raw('m.disk_price_per_gb_month_nanos'), type: raw('bigint') },
  reliability: { column: raw('m.reliability'), type: raw('float8') },
  freeDisk: { column: raw('m.free_disk_mb'), type: raw('bigint') },
} satisfies Record<VolumeOfferOrder['field'], unknown>

export function volumeOfferServices({ database }: DataDeps) {
  const timedSource = () => machineSource<{ asOf: Date }>({ asOf: database.nowSql })

  async function find<Row>(reading: Reading<Row>, conditions: Prisma.Sql[], order: Prisma.Sql, limit: number) {
    const statement = sql`
      SELECT ${reading.columns} FROM ${fromSql} WHERE ${join(conditions, ' AND ')} ORDER BY ${order} LIMIT ${limit}`
    return await database.read(withoutStatementName(statement), reading)
  }

  return {
    /** A page of volume offers. */
    async pageOffers<const Select extends VolumeOfferSelect>(
      actor: Actor,
      search: VolumeOfferSearch,
      page: PageArguments,
      select: Select,
    ): Promise<PageResult<Selected<VolumeOffer, Select> & { id: number }>> {
      authorize(actor, 'volumes.search')
      const { order } = search
      const { limit, backward, cursor } = parsePage(page)
      const ascending = (order.direction === 'asc') !== backward
      const conditions = filterSql(search, database.nowSql)
      const { column, type } = orderColumns[order.field]
      if (cursor !== undefined) {
        const { value, id } = parseVolumeOfferCursor(cursor, order)
        conditions.push(sql`(${column}, m.id) ${raw(ascending ? '>' : '<')} (${value}::${type}, ${id}::int)`)
      }
      const values = { asOf: database.nowSql, orderedBy: sql`(${column})::text` }
      const source = machineSource<{ asOf: Date; orderedBy: string }>(values)
      const placed: { id: true; orderedBy: true } = { ...select, orderedBy: true }
      const reading = readingOf(source, placed)
      const direction = raw(ascending ? 'ASC' : 'DESC')
      const found = await find(reading, conditions, sql`${column} ${direction}, m.id ${direction}`, limit + 1)
      const cut = pageOf(found, { limit, backward, cursor }, ({ id, orderedBy }) =>
        printVolumeOfferCursor({ value: orderedBy, id }, order),
      )
      // Safe: beside their places, the rows have what is selected.
      return cut as PageResult<Selected<VolumeOffer, Select> & (typeof found)[number]>
    },

    /** The first `limit` volume offers. */
    async searchOffers(actor: Actor, search: VolumeOfferSearch, limit: number): Promise<VolumeOffer[]> {
      authorize(actor, 'volumes.search')
      const { order } = search
      const direction = raw(order.direction === 'asc' ? 'ASC' : 'DESC')
      const by = sql`${orderColumns[order.field].column} ${direction}, m.id ${direction}`
      return await find(readingOf(timedSource(), wholeOffer), filterSql(search, database.nowSql), by, limit)
    },

    async countOffers(actor: Actor, search: VolumeOfferSearch): Promise<number> {
      authorize(actor, 'volumes.search')
      const conditions = filterSql(search, database.nowSql)
      const statement = sql`SELECT count(*)::int AS count FROM ${fromSql} WHERE ${join(conditions, ' AND ')}`
      const [row] = await database.query(withoutStatementName(statement), { count: int4 })
      return row?.count ?? 0
    },

    /** Volume offers by id. Offers that are off the market are not found. */
    async offersByIds<const Select extends VolumeOfferSelect>(actor: Actor, ids: readonly number[], select: Select) {
      authorize(actor, 'volumes.search')
      const conditions = [
        ...onMarketSql(volumeSizeGb.least * 1_000, database.nowSql),
        sql`m.id = ANY(${[...ids]}::int[])`,
      ]
      return await find(readingOf(timedSource(), select), conditions, sql`m.id`, ids.length)
    },
  }
}

const wholeOffer = { ...wholeMachine, asOf: true as const }

function filterSql({ conditions, sizeGb }: VolumeOfferSearch, nowSql: Prisma.Sql): Prisma.Sql[] {
  const context = { pricing: defaultPricing, nowSql }
  return [
    ...onMarketSql(requireVolumeSizeMb(sizeGb), nowSql),
    ...conditions.map(condition => conditionSql(condition, context)),
  ]
}

/** The condition of `isStorageListed` in domain/volumes/volumes.ts, and enough free disk. */
function onMarketSql(sizeMb: number, nowSql: Prisma.Sql): Prisma.Sql[] {
  return [sql`m.listed_until > ${nowSql} AND m.drained_at IS NULL AND m.free_disk_mb >= ${sizeMb}`]
}
