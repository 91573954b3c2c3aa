import { renameIssuePaths } from '../../domain/errors.ts'
import { maxFacetValues } from '../../domain/offers/facets.ts'
import { maxCounted } from '../../domain/offers/offers.ts'
import { maxOrderKeys } from '../../domain/offers/order.ts'
import { authorizeOperation } from '../../services/authorize.ts'
import { builder } from '../builder.ts'
import { connectionOf, emptyPage, pageComplexity } from '../connection.ts'
import { OrderDirection } from '../filters.ts'
import { asksForAny, pageSelectionOf } from '../selection.ts'
import { facetsComplexity, OfferFacet, OfferFacetField } from './facets.ts'
import { OfferFilter } from './filter.ts'
import { Offer } from './offers.ts'
import { orderFields } from './order-fields.ts'
import { parseOfferFilter } from './parse-filter.ts'
import { OfferPricingInput, parsePricing } from './price.ts'
import { addSearchHints } from './search-hints.ts'

const OfferOrderField = builder.enumType('OfferOrderField', {
  description: 'Figures that offers can be sorted by, each named as its field. New values may be added.',
  values: orderFields,
})

export const OfferOrder = builder.inputType('OfferOrder', {
  description: 'One key of a sort order. Ties are sorted by the next key, then by price, cheapest first.',
  fields: t => ({
    field: t.field({ type: OfferOrderField, required: true, description: 'Field to sort by.' }),
    direction: t.field({
      type: OrderDirection,
      required: true,
      defaultValue: 'asc',
      description: 'Sort direction. Defaults to `ASC`.',
    }),
  }),
})

export const defaultOrder: (typeof OfferOrder.$inferInput)[] = [{ field: 'pricePerHour', direction: 'asc' }]

/** A count reads all matching offers. That takes about as long as answering this many fields. */
const countCost = 300

const printedMost = maxCounted.toLocaleString('en-US')

/** Calls `read` once, when it is first needed. */
function lazy<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined
  return () => {
    value ??= read()
    return value
  }
}

builder.queryField('offers', t =>
  t.connection(
    {
      type: Offer,
      description: 'Searches the market for offers. Equal blocks of one machine appear once.',
      requires: 'offers.search',
      complexity: pageComplexity,
      args: {
        filter: t.arg({
          type: OfferFilter,
          description: 'Offers to find. Defaults to all that can be rented now.',
        }),
        pricing: t.arg({
          type: OfferPricingInput,
          description:
            'Rental terms and disk size of the prices that `filter` and `orderBy` compare. Defaults to on demand with 8 GB. `Offer.price` has a `pricing` of its own.',
        }),
        orderBy: t.arg({
          type: [OfferOrder],
          required: true,
          defaultValue: defaultOrder,
          description: `Sort order with at most ${maxOrderKeys} keys. Defaults to cheapest first.`,
        }),
      },
      resolve: async (_root, { filter, pricing, orderBy, ...page }, context, info) => {
        const { services, actor } = context
        authorizeOperation(actor, 'offers.search')
        const search = {
          filter: parseOfferFilter(filter ?? {}),
          pricing: parsePricing(pricing),
          order: orderBy,
          bundled: true,
        }
        // A client that only counts needs no page.
        const readsPage = asksForAny(info, ['edges', 'nodes', 'pageInfo'])
        const reading = readsPage
          ? services.offers.page(actor, search, page, pageSelectionOf(context, info))
          : services.offers.checkPage(actor, search, page).then(() => emptyPage)
        const result = await reading.catch((error: unknown) =>
          Promise.reject(renameIssuePaths(error, { order: 'orderBy' })),
        )
        await addSearchHints(context, info, { input: filter, ...search })
        const count = lazy(() => services.offers.count(actor, search))
        return { search, count, ...connectionOf(result) }
      },
    },
    {
      name: 'OfferConnection',
      description: 'A page of offers.',
      fields: t => ({
        facets: t.field({
          type: [OfferFacet],
          nullable: { list: true, items: false },
          description: `Values of fields among the matching offers on all pages, with counts and least prices for the \`pricing\` of the search. Counted only when this field is requested. A facet has at most ${maxFacetValues} values, those with most offers first. Null, with an error, if they cannot be counted.`,
          complexity: facetsComplexity,
          args: {
            by: t.arg({
              type: [OfferFacetField],
              required: true,
              description: 'Fields to count by, each answered once, in this order.',
            }),
          },
          resolve: ({ search }, { by }, { services, actor }) => services.offers.facets(actor, search, by),
        }),
        totalCount: t.int({
          complexity: { field: countCost },
          description: `Number of matching offers on all pages, at most ${printedMost}: more are not counted. Counted only when this field or \`isTotalCountExact\` is requested.`,
          resolve: async ({ count }) => (await count()).count,
        }),
        isTotalCountExact: t.boolean({
          complexity: { field: countCost },
          description: `Whether \`totalCount\` is the exact number. False when more than ${printedMost} offers match.`,
          resolve: async ({ count }) => (await count()).isExact,
        }),
      }),
    },
    { name: 'OfferEdge', description: 'An offer with its cursor.' },
  ),
)
