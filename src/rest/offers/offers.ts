import { z } from 'zod'
import type { Actor } from '../../domain/actor.ts'
import type { Services } from '../../services/services.ts'
import { selectColumns } from '../list-parameters.ts'
import { type Route, route } from '../route.ts'
import { text } from '../values.ts'
import { parseSearch } from './input.ts'
import { offerRow } from './present.ts'
import { type OfferColumns, type OfferRow, offerColumnsSchema, offerRowSchema } from './row.ts'
import { columnsSchema, searchSchema } from './search-schema.ts'

const searchResultSchema = z.object({
  offers: z.array(z.union([offerRowSchema, offerColumnsSchema])).describe('The best first.'),
})

export const offerRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/api/v0/bundles/',
    operationId: 'searchOffers',
    tag: 'Offers',
    summary: 'Search offers',
    about: 'Numbers and booleans may come as strings, null means absent, and fields that are not known are ignored.',
    operation: 'offers.search',
    publicSearch: true,
    documentedBody: searchSchema.and(z.looseObject({ select_cols: columnsSchema })),
    result: searchResultSchema,
    answer: async ({ body, ...input }) => await search(input, body),
  }),
  route({
    method: 'GET',
    path: '/api/v0/bundles/',
    operationId: 'searchOffersByUrl',
    tag: 'Offers',
    summary: 'Search offers, with the search in the URL',
    about: 'The search is the one of POST. Its plain keys and filters may also be parameters of their own.',
    operation: 'offers.search',
    publicSearch: true,
    query: z.looseObject({
      q: text('The search as JSON.').optional(),
      select_cols: text('The columns to return, as a list in JSON.').optional(),
    }),
    result: searchResultSchema,
    answer: async ({ query, ...input }) => await search(input, query),
  }),
  route({
    method: 'PUT',
    path: '/api/v0/search/asks/',
    operationId: 'searchAsks',
    tag: 'Offers',
    summary: 'Search offers, with the search under q',
    about: 'The search is the one of POST /api/v0/bundles/.',
    operation: 'offers.search',
    publicSearch: true,
    documentedBody: z.looseObject({
      q: searchSchema.optional().describe('The search.'),
      select_cols: columnsSchema,
    }),
    result: searchResultSchema,
    answer: async ({ body, ...input }) => await search(input, body),
  }),
  route({
    method: 'GET',
    path: '/api/v0/gpu_names/unique/',
    operationId: 'listGpuNames',
    tag: 'Offers',
    summary: 'List the GPU models',
    about: 'The names that offers have in gpu_name. It needs no key.',
    open: true,
    result: z.object({ gpu_names: z.array(z.string()).describe('The names, in alphabetical order.') }),
    answer: async ({ services }) => ({ gpu_names: await services.gpuModels.names() }),
  }),
]

type SearchContext = { services: Services; actor: Actor }

async function search({ services, actor }: SearchContext, request: Record<string, unknown>) {
  const { search, limit, columns } = parseSearch(request)
  const offers = await services.offers.search(actor, search, limit)
  return { offers: offers.map(offer => selectColumns<OfferRow, OfferColumns>(offerRow(offer), columns)) }
}
