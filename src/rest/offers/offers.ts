import { z } from 'zod'
import type { Actor } from '../../domain/actor.ts'
import type { Services } from '../../services/services.ts'
import { mapInTurns } from '../../turns/in-turns.ts'
import { selectColumns } from '../list-parameters.ts'
import { type Route, route } from '../route.ts'
import { text } from '../values.ts'
import { parseSearch } from './input.ts'
import { offerRow, offerRowSelect } from './present.ts'
import { type OfferColumns, type OfferRow, offerColumnsSchema, offerRowSchema } from './row.ts'
import { columnsSchema, searchSchema } from './search-schema.ts'

const searchResultSchema = z.object({
  offers: z.array(z.union([offerRowSchema, offerColumnsSchema])).describe('The offers that match, best first.'),
  hint: text('What the search may have meant, such as another GPU model. Only if it found nothing.').optional(),
})

export const offerRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/api/v0/bundles/',
    operationId: 'searchOffers',
    tag: 'Offers',
    summary: 'Search offers',
    about:
      'Searches the offers on the market. Numbers and booleans may be strings, null means absent, and unknown fields are ignored.',
    operation: 'offers.search',
    publicSearch: true,
    mayBeStale: true,
    documentedBody: searchSchema.and(z.looseObject({ select_cols: columnsSchema })),
    example: {
      body: { gpu_name: { in: ['RTX 4090'] }, verified: { eq: true }, order: [['dph_total', 'asc']], limit: 3 },
    },
    result: searchResultSchema,
    maxRows: ({ body }) => parseSearch(body).limit,
    answer: async ({ body, ...input }) => await search(input, body),
  }),
  route({
    method: 'GET',
    path: '/api/v0/bundles/',
    operationId: 'searchOffersByUrl',
    tag: 'Offers',
    summary: 'Search offers by URL',
    about: 'Takes the same search as POST, as JSON in q. Its plain keys and filters may also be separate parameters.',
    operation: 'offers.search',
    publicSearch: true,
    mayBeStale: true,
    query: z.looseObject({
      q: text('Search as JSON.').optional(),
      select_cols: text('Columns to return, as a JSON list. Absent or ["*"] means all columns.').optional(),
    }),
    example: { query: { q: '{"gpu_name": "RTX 4090", "limit": 3}' } },
    result: searchResultSchema,
    maxRows: ({ query }) => parseSearch(query).limit,
    answer: async ({ query, ...input }) => await search(input, query),
  }),
  route({
    method: 'PUT',
    path: '/api/v0/search/asks/',
    operationId: 'searchAsks',
    tag: 'Offers',
    summary: 'Search offers with q',
    about: 'Takes the same search as POST /api/v0/bundles/, under q.',
    operation: 'offers.search',
    publicSearch: true,
    mayBeStale: true,
    documentedBody: z.looseObject({
      q: searchSchema.optional().describe('Search for offers.'),
      select_cols: columnsSchema,
    }),
    example: { body: { q: { gpu_name: { in: ['RTX 4090'] }, num_gpus: { gte: 2 }, limit: 3 } } },
    result: searchResultSchema,
    maxRows: ({ body }) => parseSearch(body).limit,
    answer: async ({ body, ...input }) => await search(input, body),
  }),
  route({
    method: 'GET',
    path: '/api/v0/gpu_names/unique/',
    operationId: 'listGpuNames',
    tag: 'Offers',
    summary: 'List the GPU models',
    about: 'Lists the names that offers have in gpu_name. Needs no key.',
    open: true,
    result: z.object({ gpu_names: z.array(z.string()).describe('Names of GPU models, in alphabetical order.') }),
    answer: async ({ services }) => ({ gpu_names: await services.gpuModels.names() }),
  }),
]

type SearchContext = { services: Services; actor: Actor }

async function search({ services, actor }: SearchContext, request: Record<string, unknown>) {
  const { search, limit, columns } = parseSearch(request)
  const offers = await services.offers.search(actor, search, limit, offerRowSelect)
  const present = (offer: (typeof offers)[number]) =>
    selectColumns<OfferRow, OfferColumns>(offerRow(offer, search.pricing), columns)
  const hints = offers.length === 0 ? await services.offers.hints(search.filter) : []
  return { offers: await mapInTurns(offers, present), ...(hints.length > 0 && { hint: hints.join(' ') }) }
}
