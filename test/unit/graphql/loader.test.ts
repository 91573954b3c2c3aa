import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import type { Context } from '../../../src/graphql/context.ts'
import { createLoader, createRequiredLoader } from '../../../src/graphql/loader.ts'

const context = {} as Context
/** Finds every id but 2. */
const findRows = async (ids: readonly number[]) => ids.filter(id => id !== 2).map(id => ({ id }))

describe.each([
  ['a loader', createLoader, null],
  ['a required loader', createRequiredLoader, new Error('The row of 2 is missing.')],
] as const)('%s', (_name, create, missing) => {
  const loadAll = async (load: (id: number) => Promise<unknown>) =>
    await Promise.all([1, 2, 3].map(id => load(id).catch((error: unknown) => error)))

  it('finds the rows of one batch by their ids', async () => {
    const batches: (readonly number[])[] = []
    const loader = create(async (_context, ids: readonly number[]) => {
      batches.push(ids)
      return await findRows(ids)
    })
    expect(await loadAll(id => loader(context).load(id))).toEqual([{ id: 1 }, missing, { id: 3 }])
    expect(batches).toEqual([[1, 2, 3]])
  })

  it('fails only the lookups that the key may not do', async () => {
    const refusal = new DomainError('FORBIDDEN', 'Not this one.', { missing: [] })
    const loader = create(async (_context, ids: readonly number[]) => {
      if (ids.includes(3)) throw refusal
      return await findRows(ids)
    })
    expect(await loadAll(id => loader(context).load(id))).toEqual([{ id: 1 }, missing, refusal])
  })
})
