import { z } from 'zod'
import type { Actor } from '../domain/actor.ts'
import { DomainError } from '../domain/errors.ts'
import type { Services } from '../services/services.ts'
import { readSearch } from './offers-input.ts'
import { offerRow } from './offers-present.ts'
import { type OfferColumns, type OfferRow, offerColumnsSchema, offerRowSchema } from './offers-row.ts'
import { columnsSchema, searchSchema } from './offers-search.ts'
import { type Route, route } from './route.ts'
import { text } from './values.ts'

const found = z.object({ offers: z.array(z.union([offerRowSchema, offerColumnsSchema])).describe('The best first.') })

export const offerRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/api/v0/bundles/',
    operationId: 'searchOffers',
    tag: 'Offers',
    summary: 'Search offers',
    about: 'Numbers and booleans may come as strings, null means absent, and fields that are not known are ignored.',
    operation: 'offers.search',
    documentedBody: searchSchema.and(z.looseObject({ select_cols: columnsSchema })),
    result: found,
    // Some clients put the search under q here too.
    answer: async ({ body, ...input }) => await search(input, body['q'] ?? body, body['select_cols']),
  }),
  route({
    method: 'GET',
    path: '/api/v0/bundles/',
    operationId: 'searchOffersByUrl',
    tag: 'Offers',
    summary: 'Search offers, with the search in the URL',
    about: 'The search is the one of POST.',
    operation: 'offers.search',
    query: z.object({
      q: text('The search as JSON.').default('{}'),
      select_cols: text('The columns to return, as a list in JSON.').default('null'),
    }),
    result: found,
    answer: async ({ query, ...input }) =>
      await search(input, parse('q', query.q), parse('select_cols', query.select_cols)),
  }),
  route({
    method: 'PUT',
    path: '/api/v0/search/asks/',
    operationId: 'searchAsks',
    tag: 'Offers',
    summary: 'Search offers, with the search under q',
    about: 'The search is the one of POST /api/v0/bundles/.',
    operation: 'offers.search',
    documentedBody: z.looseObject({
      q: searchSchema.optional().describe('The search.'),
      select_cols: columnsSchema,
    }),
    result: found,
    answer: async ({ body, ...input }) => await search(input, body['q'] ?? {}, body['select_cols']),
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

type Asked = { services: Services; actor: Actor }

async function search({ services, actor }: Asked, query: unknown, columns: unknown) {
  const { search, limit } = readSearch(query)
  const offers = await services.offers.search(actor, search, limit)
  return { offers: offers.map(offer => select(offerRow(offer), columns)) }
}

/** Null stands for a column that does not exist. A list with "*", or no list, is every column. */
function select(row: OfferRow, columns: unknown): OfferRow | OfferColumns {
  if (!Array.isArray(columns) || columns.includes('*')) return row
  const values = new Map<string, unknown>(Object.entries(row))
  return Object.fromEntries(columns.map(column => [String(column), values.get(String(column)) ?? null])) as OfferColumns
}

function parse(name: string, json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new DomainError('INVALID_INPUT', `Invalid query: ${name} is not JSON`)
  }
}
