import DataLoader from 'dataloader'
import { DomainError } from '../domain/errors.ts'
import type { Context } from './context.ts'

type Loader<Id, Row> = Pick<DataLoader<Id, Row | null>, 'load'>

/** The loaders of each request, by their `byIds` function. */
const loaders = new WeakMap<Context, Map<unknown, unknown>>()

/** Drops what the request has loaded, so that later fields read the database again. */
export function clearLoaders(context: Context): void {
  loaders.delete(context)
}

/**
 * A function that returns a request's loader for one type: it batches and caches lookups by id. When the key may not read
 * some of the ids, only their lookups fail.
 */
export function createLoader<Id, Row extends { id: Id }>(
  byIds: (context: Context, ids: readonly Id[]) => Promise<Row[]>,
) {
  return (context: Context): Loader<Id, Row> => {
    const loaded = loaders.get(context) ?? new Map<unknown, unknown>()
    loaders.set(context, loaded)
    const loader = loaded.get(byIds) ?? createDataLoader(byIds, context)
    loaded.set(byIds, loader)
    // Safe: the loader under this `byIds` was created with it, so the types match.
    return loader as Loader<Id, Row>
  }
}

function createDataLoader<Id, Row extends { id: Id }>(
  byIds: (context: Context, ids: readonly Id[]) => Promise<Row[]>,
  context: Context,
) {
  return new DataLoader<Id, Row | null>(async ids => {
    const find = async (some: readonly Id[]) => {
      const rows = new Map((await byIds(context, some)).map(row => [row.id, row]))
      return some.map(id => rows.get(id) ?? null)
    }
    return await find(ids).catch(async (error: unknown) => {
      if (!(error instanceof DomainError) || error.code !== 'FORBIDDEN') throw error
      return (await Promise.all(ids.map(id => find([id]).catch((refusal: Error) => [refusal])))).flat()
    })
  })
}
