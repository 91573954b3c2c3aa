import { Prisma } from '../../database/generated/client.ts'
import { int4, type RowOf } from '../../database/row-types.ts'
import { readingOf, withValues } from '../../database/selection/reading.ts'
import type { Selected, SelectOf } from '../../database/selection/selected.ts'
import { nameIfRepeated, withoutStatementName } from '../../database/statement-names.ts'
import type { Actor } from '../../domain/actor.ts'
import {
  type Facet,
  type FacetField,
  type FacetValue,
  facetColumnOf,
  facetOf,
  maxCountedValues,
} from '../../domain/offers/facets.ts'
import type { Condition } from '../../domain/offers/filter.ts'
import { maxCounted, type OfferFacts, type Pricing } from '../../domain/offers/offers.ts'
import { completeOrder, type OrderKey, positionFrom, reverseOrder } from '../../domain/offers/order.ts'
import { parseOfferCursor, printOfferCursor } from '../../domain/offers/page.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps, ReadDeps } from '../deps.ts'
import { type Reads, readStale } from '../reads/stale.ts'
import { facetRow, facetStatement } from './sql/facets.ts'
import type { OfferSelection, ReadLimits } from './sql/selection.ts'
import { offerSource, wholeOffer } from './sql/source.ts'
import { countStatement, positionOfRowSql, searchStatement } from './sql/statement.ts'

export type OfferSearch = OfferSelection & { order: OrderKey[] }
/** An offer that the caller could not rent, and the pricing of that attempt. */
type AlternativesQuery = { offerId: bigint; gpuName: string; numGpus: number; pricing: Pricing }

/** What a read asks of offers. */
export type OfferSelect = SelectOf<OfferFacts>

/** Enough for a page of most searches, and read in milliseconds. */
export const defaultLimits: ReadLimits = { offers: 2_000, machines: 3_000, count: maxCounted }

export function offerReadServices(deps: ReadDeps, limits = defaultLimits) {
  const { database } = deps

  function pageStatement<const Select extends OfferSelect>(
    { nowSql }: Pick<Reads, 'nowSql'>,
    search: OfferSearch,
    page: PageArguments,
    select: Select,
  ) {
    const { limit, backward, cursor } = parsePage(page)
    const keys = completeOrder(search.order)
    const after = cursor === undefined ? undefined : parseOfferCursor(cursor, keys, search.pricing)
    const slice = { keys: backward ? reverseOrder(keys) : keys, after, limit: limit + 1 }
    const timed = { ...search, nowSql, limits }
    const reading = withValues(readingOf(offerSource(nowSql), select), positionOfRowSql(slice, timed))
    return { statement: searchStatement(timed, slice, reading), reading, keys, limit, backward, cursor }
  }

  return {
    /** The best offers, at most `limit` of them. */
    async search<const Select extends OfferSelect>(
      actor: Actor,
      search: OfferSearch,
      limit: number,
      select: Select,
    ): Promise<Selected<OfferFacts, Select>[]> {
      authorize(actor, 'offers.search')
      return await readStale(deps, from => findOffers({ database: from }, search, limit, select, limits))
    },

    async page<const Select extends OfferSelect>(
      actor: Actor,
      search: OfferSearch,
      page: PageArguments,
      select: Select,
    ): Promise<PageResult<Selected<OfferFacts, Select>>> {
      authorize(actor, 'offers.search')
      const [{ keys, limit, backward, cursor }, rows] = await readStale(deps, async from => {
        const { statement, reading, ...place } = pageStatement(from, search, page, select)
        return [place, await from.read(statement, reading)] as const
      })
      const found = pageOf(rows, { limit, backward, cursor }, ({ values }) =>
        printOfferCursor(positionFrom(values, keys), keys, search.pricing),
      )
      return { ...found, edges: found.edges.map(({ node, ...edge }) => ({ ...edge, node: node.row })) }
    },

    /** Fails as `page` does if its input is invalid, and reads nothing. */
    async checkPage(actor: Actor, search: OfferSearch, page: PageArguments): Promise<void> {
      authorize(actor, 'offers.search')
      pageStatement(database, search, page, { id: true })
    },

    /** The number of matches or, if there are more than are counted, how many are counted. */
    async count(actor: Actor, selection: OfferSelection): Promise<{ count: number; isExact: boolean }> {
      authorize(actor, 'offers.search')
      const [row] = await readStale(deps, ({ query, nowSql }) =>
        query(withoutStatementName(countStatement({ ...selection, nowSql, limits })), { count: int4 }),
      )
      const count = row?.count ?? 0
      return { count: Math.min(count, limits.count), isExact: count <= limits.count }
    },

    /** The facets of a search, in the order of the fields, from one statement. */
    async facets(actor: Actor, selection: OfferSelection, fields: readonly FacetField[]): Promise<Facet[]> {
      authorize(actor, 'offers.search')
      const unique = [...new Set(fields)]
      if (unique.length === 0) return []
      const columns = [...new Set(unique.map(facetColumnOf))]
      const rows = await readStale(deps, ({ query, nowSql }) => {
        const statement = facetStatement({ ...selection, nowSql, limits }, columns, maxCountedValues)
        return query(withoutStatementName(statement), facetRow)
      })
      const counted = columns.map((_, index) => rows.filter(({ facet }) => facet === index).map(toFacetValue))
      return unique.map(field => facetOf(field, counted[columns.indexOf(facetColumnOf(field))] ?? []))
    },

    /** The cheapest rentable offers with the same GPU model and count, and room for the same disk. */
    async alternatives(actor: Actor, wanted: AlternativesQuery, limit: number): Promise<OfferFacts[]> {
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
      return await findOffers(deps, search, limit, wholeOffer, limits)
    },

    /** Offers by id, if they are on the market or the caller rented them. */
    async byIds<const Select extends OfferSelect>(
      actor: Actor,
      ids: readonly bigint[],
      select: Select,
    ): Promise<Selected<OfferFacts, Select>[]> {
      authorize(actor, 'offers.get')
      const reading = readingOf(offerSource(database.nowSql), select)
      const statement = Prisma.sql`
        SELECT ${reading.columns} FROM offers o ${reading.joins}
        WHERE o.id = ANY(${ids.map(String)}::bigint[]) AND (o.withdrawn_at IS NULL OR (
          SELECT i.id FROM instances i WHERE i.offer_id = o.id AND i.account_id + 0 = ${actor.accountId} LIMIT 1) IS NOT NULL)`
      return await database.read(nameIfRepeated(statement), reading)
    },
  }
}

/** The first offers that match. Internal: does not authorize; callers must have. */
export async function findOffers<const Select extends OfferSelect>(
  { database }: { database: Pick<DataDeps['database'], 'read' | 'nowSql'> },
  search: OfferSearch,
  limit: number,
  select: Select,
  limits = defaultLimits,
): Promise<Selected<OfferFacts, Select>[]> {
  const slice = { keys: completeOrder(search.order), after: undefined, limit }
  const reading = readingOf(offerSource(database.nowSql), select)
  return await database.read(searchStatement({ ...search, nowSql: database.nowSql, limits }, slice, reading), reading)
}

function toFacetValue({ value, count, price }: RowOf<typeof facetRow>): FacetValue {
  return { value, count, minimumPriceNanos: price }
}
