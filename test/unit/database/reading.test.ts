import { describe, expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
import { readingOf, type Source, withValues } from '../../../src/database/selection/reading.ts'

const { sql } = Prisma

type Renter = { id: number; email: string }
type Instance = {
  id: bigint
  label: string | null
  holdsGpus: boolean
  volumes: { id: bigint }[]
  proxy: string | null
  machine: { id: number; country: string; gpuModel: { name: string } }
  account: Renter | null
  rival: { id: bigint }
}

const source: Source<Instance> = {
  model: 'Instance',
  alias: 'i',
  computed: {
    holdsGpus: sql`holds(i.id)`,
    volumes: { sql: sql`volumes(i.id)`, decode: ids => (ids as string[]).map(id => ({ id: BigInt(id) })) },
  },
  known: { proxy: null },
  relations: {
    machine: {
      ...{ model: 'Machine', alias: 'm', join: sql`JOIN machines m` },
      relations: { gpuModel: { model: 'GpuModel', alias: 'g', join: sql`JOIN gpu_models g` } },
    },
    account: { model: 'Account', alias: 'a', join: sql`LEFT JOIN accounts a`, optional: true },
    // The model has no such relation.
    rival: { model: 'Instance', alias: 'r', join: sql`JOIN instances r` },
  },
}

const textOf = ({ columns, joins }: { columns: Prisma.Sql; joins: Prisma.Sql }) => [columns.text, joins.text]

describe('a reading', () => {
  it('has the columns that are selected, and no join', () => {
    const reading = readingOf(source, { id: true, label: true })
    expect(textOf(reading)).toEqual(['i.id,i.label', ''])
    expect(reading.toRow([1n, 'a'])).toEqual({ id: 1n, label: 'a' })
  })

  it('joins the tables on the way to a selected column, each once and in their order', () => {
    const nested = { machine: { select: { gpuModel: { select: { name: true } }, country: true } } } as const
    const reading = readingOf(source, nested)
    expect(textOf(reading)).toEqual(['g.name,m.country', 'JOIN machines m JOIN gpu_models g'])
    expect(reading.toRow(['H200', 'DE'])).toEqual({ machine: { gpuModel: { name: 'H200' }, country: 'DE' } })
  })

  it('has rows that the statement joins without a relation of the model', () => {
    const reading = readingOf(source, { id: true, rival: { select: { id: true } } })
    expect(textOf(reading)).toEqual(['i.id,r.id', 'JOIN instances r'])
    expect(reading.toRow([1n, 2n])).toEqual({ id: 1n, rival: { id: 2n } })
  })

  it('joins what the conditions need, too', () => {
    expect(textOf(readingOf(source, { id: true }, [sql`JOIN machines m`]))).toEqual(['i.id', 'JOIN machines m'])
  })

  it('of a row that may be missing tells by its id', () => {
    const reading = readingOf(source, { account: { select: { email: true } } })
    expect(textOf(reading)).toEqual(['a.email,a.id', 'LEFT JOIN accounts a'])
    expect([reading.toRow([null, null]), reading.toRow(['a@b', 1])]).toEqual([
      { account: null },
      { account: { email: 'a@b' } },
    ])
  })

  it('computes what no column has only if it is selected, and decodes it', () => {
    const reading = readingOf(source, { holdsGpus: true, volumes: true, proxy: true })
    expect(textOf(reading)).toEqual(['holds(i.id),volumes(i.id)', ''])
    expect(reading.toRow([true, ['7']])).toEqual({ holdsGpus: true, volumes: [{ id: 7n }], proxy: null })
  })

  it('of nothing still is a statement', () => {
    expect(textOf(readingOf(source, {}))).toEqual(['NULL', ''])
  })

  it('can have further values beside each row', () => {
    const reading = withValues(readingOf(source, { id: true }), [sql`i.label`, sql`i.id`])
    expect(reading.columns.text).toBe('i.id,i.label,i.id')
    expect(reading.toRow([1n, 'a', 1n])).toEqual({ row: { id: 1n }, values: ['a', 1n] })
  })

  it.each([
    { nothing: true },
    { sshKeys: { select: { sshKeyId: true } } },
    { machine: true },
    { machine: { select: { id: true }, where: { id: 1 } } },
  ])('refuses what the statement does not have: %o', select => {
    expect(() => readingOf(source, select as object)).toThrow(/Instance/)
  })
})
