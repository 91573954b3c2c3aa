import DataLoader from 'dataloader'
import { DomainError } from '../domain/errors.ts'
import type { Context } from './context.ts'

type Loader<Id, Row> = Pick<DataLoader<Id, Row | null>, 'load'>

/** What a request has loaded, by what finds it. */
const loaders = new WeakMap<Context, Map<unknown, unknown>>()

/** From here on the request reads everything anew. */
export function clearLoaders(context: Context): void {
  loaders.delete(context)
}

/**
 * Finds rows by id, all that one request asks for at once. Each type that can be found so owns one. What a key may not
 * do to one id is refused for that one alone.
 */
export function createLoader<Id, Row extends { id: Id }>(
  byIds: (context: Context, ids: readonly Id[]) => Promise<Row[]>,
) {
  return (context: Context): Loader<Id, Row> => {
    const loaded = loaders.get(context) ?? new Map<unknown, unknown>()
    loaders.set(context, loaded)
    const loader = loaded.get(byIds) ?? createDataLoader(byIds, context)
    loaded.set(byIds, loader)
    // It was made for this `byIds`, whose types these are.
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
