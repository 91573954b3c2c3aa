import { readSearch } from './offers-input.ts'
import { offerRow } from './offers-present.ts'
import type { Route, RouteInput } from './route.ts'

export const offerRoutes: Route[] = [
  {
    method: 'POST',
    path: '/api/v0/bundles/',
    about: 'Search offers.',
    answer: async ({ body = {}, ...input }) => await search(input, body),
  },
  {
    method: 'GET',
    path: '/api/v0/bundles/',
    about: 'Search offers, with the search as JSON in the query parameter q.',
    answer: async ({ query, ...input }) => await search(input, Object.fromEntries(query)),
  },
  {
    method: 'PUT',
    path: '/api/v0/search/asks/',
    about: 'Search offers, with the search under q and the wanted columns under select_cols.',
    answer: async ({ body = {}, ...input }) => await search(input, body),
  },
  {
    method: 'GET',
    path: '/api/v0/gpu_names/unique/',
    about: 'The names of all GPU models. It needs no key.',
    open: true,
    answer: async ({ services }) => ({ gpu_names: await services.gpuModels.names() }),
  },
]

async function search({ services, actor }: Pick<RouteInput, 'services' | 'actor'>, request: Record<string, unknown>) {
  const { search, limit, columns } = readSearch(request)
  const offers = await services.offers.search(actor, search, limit)
  return { offers: offers.map(offer => select(offerRow(offer), columns)) }
}

/** Null stands for a column that does not exist. */
function select(row: Record<string, unknown>, columns: string[] | undefined): Record<string, unknown> {
  if (!columns) return row
  return Object.fromEntries(columns.map(column => [column, Object.hasOwn(row, column) ? row[column] : null]))
}
