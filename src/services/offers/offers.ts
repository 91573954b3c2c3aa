import { Prisma } from '../../database/generated/client.ts'
import { modelColumnsOf, recordsOf, selectListSql, withoutStatementName } from '../../database/rows.ts'
import type { Actor } from '../../domain/actor.ts'
import type { GpuModel, Machine } from '../../domain/machines/machines.ts'
import {
  type Facet,
  type FacetField,
  type FacetValue,
  facetColumnOf,
  facetOf,
  maxCountedValues,
} from '../../domain/offers/facets.ts'
import type { Condition } from '../../domain/offers/filter.ts'
import { defaultPricing, type Offer, type OfferBlock, type Pricing, priceOf } from '../../domain/offers/offers.ts'
import { completeOrder, type OrderKey, positionOf, reverseOrder } from '../../domain/offers/order.ts'
import { parseOfferCursor, printOfferCursor } from '../../domain/offers/page.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { facetStatement } from './sql/facets.ts'
import { countStatement, type OfferSelection, type Slice, searchStatement } from './sql/statement.ts'

export type OfferSearch = OfferSelection & { order: OrderKey[] }
/** An offer that the caller could not rent, and the pricing of that attempt. */
type AlternativesQuery = { offerId: bigint; gpuName: string; numGpus: number; pricing: Pricing }

const offerColumns = modelColumnsOf(Prisma.OfferScalarFieldEnum)
const machineColumns = modelColumnsOf(Prisma.MachineScalarFieldEnum)
const gpuModelColumns = modelColumnsOf(Prisma.GpuModelScalarFieldEnum)
const allColumns = Prisma.join([
  selectListSql('o', offerColumns),
  selectListSql('m', machineColumns),
  selectListSql('g', gpuModelColumns),
])

export function offerReadServices(deps: DataDeps) {
  const { database } = deps

  return {
    /** The best offers, at most `limit` of them. */
    async search(actor: Actor, search: OfferSearch, limit: number): Promise<Offer[]> {
      authorize(actor, 'offers.search')
      return await findOffers(deps, search, limit)
    },

    async page(actor: Actor, search: OfferSearch, page: PageArguments): Promise<PageResult<Offer>> {
      authorize(actor, 'offers.search')
      const { limit, backward, cursor } = parsePage(page)
      const keys = completeOrder(search.order)
      const after = cursor === undefined ? undefined : parseOfferCursor(cursor, keys, search.pricing)
      const slice = { keys: backward ? reverseOrder(keys) : keys, after, limit: limit + 1 }
      const cursorOf = (offer: Offer) => printOfferCursor(positionOf(offer, keys), keys, search.pricing)
      return pageOf(await findSlice(deps, search, slice), { limit, backward, cursor }, cursorOf)
    },

    async count(actor: Actor, selection: OfferSelection): Promise<number> {
      authorize(actor, 'offers.search')
      const [row] = await database.rows(withoutStatementName(countStatement({ ...selection, nowSql: database.nowSql })))
      return row?.[0] as number
    },

    /** The facets of a search, in the order of the fields, from one statement. */
    async facets(actor: Actor, selection: OfferSelection, fields: readonly FacetField[]): Promise<Facet[]> {
      authorize(actor, 'offers.search')
      const unique = [...new Set(fields)]
      if (unique.length === 0) return []
      const columns = [...new Set(unique.map(facetColumnOf))]
      const timed = { ...selection, nowSql: database.nowSql }
      const rows = await database.rows(withoutStatementName(facetStatement(timed, columns, maxCountedValues)))
      const counted = columns.map((_, index) => rows.filter(([column]) => column === index).map(toFacetValue))
      return unique.map(field => facetOf(field, counted[columns.indexOf(facetColumnOf(field))] ?? []))
    },

    /** The cheapest rentable offers with the same GPU model and count, and room for the same disk. */
    async alternatives(actor: Actor, wanted: AlternativesQuery, limit: number): Promise<Offer[]> {
      authorize(actor, 'offers.search')
      const conditions: Condition[] = [
        { field: 'gpuName', operator: 'eq', value: wanted.gpuName.toLowerCase() },
        { field: 'numGpus', operator: 'eq', value: wanted.numGpus },
        { field: 'id', operator: 'neq', value: Number(wanted.offerId) },
        { field: 'freeDiskGb', operator: 'gte', value: wanted.pricing.diskMb / 1000 },
        { field: 'rentable', operator: 'eq', value: true },
      ]
      const { pricing } = wanted
      const search = { filter: { conditions, anyOf: [] }, order: [], pricing, bundled: true }
      return await findOffers(deps, search, limit)
    },

    /** Offers by id, if they are on the market or the caller rented them. */
    async byIds(actor: Actor, ids: readonly bigint[], pricing: Pricing = defaultPricing): Promise<Offer[]> {
      authorize(actor, 'offers.get')
      const rows = await database.rows(Prisma.sql`
        SELECT ${allColumns}, ${database.nowSql} FROM offers o JOIN machines m ON m.id = o.machine_id JOIN gpu_models g ON g.id = o.gpu_model_id
        WHERE o.id = ANY(${ids.map(String)}::bigint[]) AND (o.withdrawn_at IS NULL OR EXISTS (
          SELECT FROM instances i WHERE i.offer_id = o.id AND i.account_id = ${actor.accountId}))`)
      return rows.map(row => toOffer(row, pricing))
    },
  }
}

/** The first offers that match. Internal: does not authorize; callers must have. */
export async function findOffers(deps: DataDeps, search: OfferSearch, limit: number): Promise<Offer[]> {
  return await findSlice(deps, search, { keys: completeOrder(search.order), after: undefined, limit })
}

/** The machine ids of the first offers that match, one for each offer. Internal: does not authorize. */
export async function findMachinesOfOffers(
  { database }: DataDeps,
  search: OfferSearch,
  limit: number,
): Promise<number[]> {
  const slice = { keys: completeOrder(search.order), after: undefined, limit }
  const statement = searchStatement({ ...search, nowSql: database.nowSql }, slice, Prisma.raw('o.machine_id'))
  const rows = await database.rows(withoutStatementName(statement))
  return rows.map(([machineId]) => machineId as number)
}

async function findSlice({ database }: DataDeps, selection: OfferSelection, slice: Slice): Promise<Offer[]> {
  const statement = searchStatement({ ...selection, nowSql: database.nowSql }, slice, allColumns)
  const rows = await database.rows(withoutStatementName(statement))
  return rows.map(row => toOffer(row, selection.pricing))
}

/** The row is one of `facetStatement`. */
function toFacetValue([, value, count, price]: unknown[]): FacetValue {
  return { value: value as string, count: count as number, minimumPriceNanos: price as bigint }
}

/** The row has `allColumns` and, last, the time of the read. */
function toOffer(row: unknown[], pricing: Pricing): Offer {
  const [block, machine, gpuModel] = recordsOf(row, offerColumns, machineColumns, gpuModelColumns)
  const offerBlock = block as OfferBlock
  const machineWithModel = { ...(machine as Machine), gpuModel: gpuModel as GpuModel }
  const price = priceOf(offerBlock, machineWithModel.diskPricePerGbMonthNanos, pricing)
  return { ...offerBlock, machine: machineWithModel, pricing, price, asOf: row.at(-1) as Date }
}
