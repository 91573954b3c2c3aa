import { createContextCache } from '@pothos/core'
import DataLoader from 'dataloader'
import type { Context } from './context.ts'

/** Finds rows by id, all that one request asks for at once. Each type that can be found so owns one. */
export function loaderOf<Id, Row extends { id: Id }>(byIds: (context: Context, ids: readonly Id[]) => Promise<Row[]>) {
  return createContextCache(
    (context: Context) =>
      new DataLoader<Id, Row | null>(async ids => {
        const rows = new Map((await byIds(context, ids)).map(row => [row.id, row]))
        return ids.map(id => rows.get(id) ?? null)
      }),
  )
}
