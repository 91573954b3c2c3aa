import { invalidInput } from '../domain/errors.ts'
import { readSearch } from './offers-input.ts'
import { offerRow } from './offers-present.ts'
import type { Route, RouteInput } from './route.ts'

export const offerRoutes: Route[] = [
  {
    method: 'POST',
    path: '/api/v0/bundles/',
    about: 'Search offers.',
    // Some clients put the search under q here too.
    answer: async ({ body = {}, ...input }) => await search(input, body['q'] ?? body, body['select_cols']),
  },
  {
    method: 'GET',
    path: '/api/v0/bundles/',
    about: 'Search offers, with the search as JSON in the query parameter q.',
    answer: async ({ query, ...input }) =>
      await search(input, parse('q', query.get('q') ?? '{}'), parse('select_cols', query.get('select_cols') ?? 'null')),
  },
  {
    method: 'PUT',
    path: '/api/v0/search/asks/',
    about: 'Search offers, with the search under q and the wanted columns under select_cols.',
    answer: async ({ body = {}, ...input }) => await search(input, body['q'] ?? {}, body['select_cols']),
  },
  {
    method: 'GET',
    path: '/api/v0/gpu_names/unique/',
    about: 'The names of all GPU models. It needs no key.',
    open: true,
    answer: async ({ services }) => ({ gpu_names: await services.gpuModels.names() }),
  },
]

async function search({ services, actor }: Pick<RouteInput, 'services' | 'actor'>, query: unknown, columns: unknown) {
  const { search, limit } = readSearch(query)
  const offers = await services.offers.search(actor, search, limit)
  return { offers: offers.map(offer => select(offerRow(offer), columns)) }
}

/** Null stands for a column that does not exist. A list with "*", or no list, is every column. */
function select(row: Record<string, unknown>, columns: unknown): Record<string, unknown> {
  if (!Array.isArray(columns) || columns.includes('*')) return row
  return Object.fromEntries(columns.map(column => [String(column), row[String(column)] ?? null]))
}

function parse(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidInput([{ path: name, message: 'is not JSON.' }])
  }
}
