import pg from 'pg'
import { describe, expect, it } from 'vitest'
import {
  bool,
  enumeration,
  int8,
  jsonb,
  nullable,
  type RowShape,
  rowReaderOf,
  text,
  timestamptz,
} from '../../../src/database/row-types.ts'

const { INT8, TEXT, TIMESTAMPTZ, BOOL, JSONB } = pg.types.builtins
const answer = (fields: Record<string, number>, ...rows: unknown[][]) => ({
  fields: Object.entries(fields).map(([name, dataTypeID]) => ({ name, dataTypeID })),
  rows,
})

const readRows = <Shape extends RowShape>(given: ReturnType<typeof answer>, shape: Shape) =>
  given.rows.map(rowReaderOf(given, shape))

describe('rowReaderOf', () => {
  it('names each value after its column, whatever the order of the columns', () => {
    const at = new Date(0)
    const rows = readRows(answer({ created_at: TIMESTAMPTZ, id: INT8, hash_id: TEXT }, [at, 1n, 'a'], [at, 2n, 'b']), {
      id: int8,
      hashId: text,
      createdAt: timestamptz,
    })
    expect(rows).toEqual([
      { id: 1n, hashId: 'a', createdAt: at },
      { id: 2n, hashId: 'b', createdAt: at },
    ])
  })

  it('reads null, JSON and enums where the shape says so', () => {
    const shape = { label: nullable(text), settings: jsonb<{ a: number }>(), status: enumeration<'on' | 'off'>() }
    const rows = readRows(answer({ label: TEXT, settings: JSONB, status: 16_500 }, [null, { a: 1 }, 'on']), shape)
    expect(rows).toEqual([{ label: null, settings: { a: 1 }, status: 'on' }])
  })

  it.each([
    ['a column that the shape lacks', { id: INT8, name: TEXT }, 'The row shape leaves out columns of id, name.'],
    ['no column of a name in the shape', { name: INT8 }, 'The statement answers no column id, only name.'],
    ['a column of another type', { id: TEXT }, `The column id has the type ${TEXT} in PostgreSQL, not ${INT8}.`],
  ])('refuses an answer with %s', (_what, fields, message) => {
    expect(() => readRows(answer(fields), { id: int8 })).toThrow(message)
  })

  it('refuses a null that the shape does not expect, and a type of PostgreSQL for an enum', () => {
    expect(() => readRows(answer({ done: BOOL }, [null]), { done: bool })).toThrow('The column of done is null')
    expect(() => readRows(answer({ done: BOOL }, [true]), { done: enumeration() })).toThrow('not an enum')
  })
})
