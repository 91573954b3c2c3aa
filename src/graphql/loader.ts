import { inspect } from 'node:util'
import DataLoader from 'dataloader'
import { DomainError } from '../domain/errors.ts'
import type { Context } from './context.ts'

type ByIds<Id, Row extends { id: Id }> = (context: Context, ids: readonly Id[]) => Promise<Row[]>
type Loader<Id, Found> = Pick<DataLoader<Id, Found>, 'load'>

/** The loaders of each request, by their `byIds` function. */
const loaders = new WeakMap<Context, Map<unknown, unknown>>()

/** Drops what the request has loaded, so that later fields read the database again. */
export function clearLoaders(context: Context): void {
  loaders.delete(context)
}

/**
 * A function that returns a request's loader for one type: it batches and caches lookups by id. A lookup that finds no row
 * gives null. When the key may not read some of the ids, only their lookups fail.
 */
export function createLoader<Id, Row extends { id: Id }>(byIds: ByIds<Id, Row>) {
  return loaderOfRequest<Id, Row, null>(byIds, () => null)
}

/**
 * As `createLoader`, for rows that every id has. A lookup that finds none fails: that is a bug, and a default such as a cost
 * of 0 would hide it.
 */
export function createRequiredLoader<Id, Row extends { id: Id }>(byIds: ByIds<Id, Row>) {
  return loaderOfRequest<Id, Row, never>(byIds, missingRow)
}

function missingRow(id: unknown): Error {
  return new Error(`The row of ${inspect(id)} is missing.`)
}

/** `missing` gives the result of a lookup that finds no row. */
function loaderOfRequest<Id, Row extends { id: Id }, Missing>(
  byIds: ByIds<Id, Row>,
  missing: (id: Id) => Missing | Error,
) {
  return (context: Context): Loader<Id, Row | Missing> =>
    loadedBy(context, byIds, () => createDataLoader(byIds, context, missing))
}

/** What the request keeps for a `byIds` function. */
function loadedBy<Kept>(context: Context, byIds: unknown, create: () => Kept): Kept {
  const loaded = loaders.get(context) ?? new Map<unknown, unknown>()
  loaders.set(context, loaded)
  const kept = loaded.get(byIds) ?? create()
  loaded.set(byIds, kept)
  // Safe: what is kept under this `byIds` was created with it, so the types match.
  return kept as Kept
}

/** What a selection asks of an item at least. */
type ItemSelect = { id: true }
type SelectedByIds<Id, Row> = (context: Context, ids: readonly Id[], select: ItemSelect) => Promise<Row[]>

/** As `createLoader`, for items of which a lookup reads what it selects. Lookups with equal selections are one batch. */
export function createSelectedLoader<Id, Row extends { id: Id }>(byIds: SelectedByIds<Id, Row>) {
  return selectedLoaderOfRequest<Id, Row, null>(byIds, () => null)
}

/** As `createSelectedLoader`, for rows that every id has. */
export function createRequiredSelectedLoader<Id, Row extends { id: Id }>(byIds: SelectedByIds<Id, Row>) {
  return selectedLoaderOfRequest<Id, Row, never>(byIds, missingRow)
}

function selectedLoaderOfRequest<Id, Row extends { id: Id }, Missing>(
  byIds: SelectedByIds<Id, Row>,
  missing: (id: Id) => Missing | Error,
) {
  return (context: Context, select: ItemSelect): Loader<Id, Row | Missing> => {
    const bySelect = loadedBy(context, byIds, () => new Map<string, Loader<Id, Row | Missing>>())
    const key = JSON.stringify(select)
    const read = (_context: Context, ids: readonly Id[]) => byIds(context, ids, select)
    const loader = bySelect.get(key) ?? createDataLoader(read, context, missing)
    bySelect.set(key, loader)
    return loader
  }
}

function createDataLoader<Id, Row extends { id: Id }, Missing>(
  byIds: ByIds<Id, Row>,
  context: Context,
  missing: (id: Id) => Missing | Error,
) {
  return new DataLoader<Id, Row | Missing>(async ids => {
    const find = async (some: readonly Id[]) => {
      const rows = new Map((await byIds(context, some)).map(row => [row.id, row]))
      return some.map(id => rows.get(id) ?? missing(id))
    }
    return await find(ids).catch(async (error: unknown) => {
      if (!(error instanceof DomainError) || error.code !== 'FORBIDDEN') throw error
      return (await Promise.all(ids.map(id => find([id]).catch((refusal: Error) => [refusal])))).flat()
    })
  })
}
