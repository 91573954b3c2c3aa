import { describe, expect, it } from 'vitest'
import { everyRow } from '../../../src/operator/command.ts'
import { findCommand, helpFor } from '../../../src/operator/commands.ts'
import {
  readAmount,
  readGrant,
  readInstant,
  readOptions,
  readSigned,
  readWhole,
} from '../../../src/operator/options.ts'

const table = {
  email: { required: true, meaning: 'whose' },
  name: { meaning: 'for people' },
  'dry-run': { flag: true, meaning: 'change nothing' },
} as const
const read = (...args: string[]) => readOptions(table, args)

describe('options', () => {
  it('are texts and flags', () => {
    expect(read('--email', 'a@b.c')).toEqual({ email: 'a@b.c', 'dry-run': false })
    expect(read('--dry-run', '--name=Ada', '--email=')).toEqual({ email: '', name: 'Ada', 'dry-run': true })
  })

  it('may begin with a dash, unless they are flags', () => {
    expect(read('--email', '-5', '--name', '-x=y')).toEqual({ email: '-5', name: '-x=y', 'dry-run': false })
    expect(() => read('--email', 'x', '--dry-run', '-y')).toThrow("Unknown option '-y'")
  })

  it.each([
    [[], 'Missing: --email.'],
    [['--email'], "'--email <value>' argument missing"],
    [['--email', 'x', '--colour', 'red'], "Unknown option '--colour'"],
    [['--email', 'x', 'y'], "Unexpected argument 'y'"],
    [['--email', 'x', '--dry-run=yes'], "'--dry-run' does not take an argument"],
  ])('%j are refused by name', (args, message) => {
    expect(() => read(...args)).toThrow(message)
  })

  it('are read, or refused by name', () => {
    expect(readAmount('amount', '0.5')).toBe(500_000_000n)
    expect(() => readAmount('amount', '-1')).toThrow('--amount is an amount of dollars')
    expect(readSigned('amount', '-0.5')).toBe(-500_000_000n)
    expect(() => readSigned('amount', '1e3')).toThrow('dollars with at most nine places, or below 0, not "1e3"')
    expect(readWhole('seed', '9999999')).toBe(9_999_999)
    for (const text of ['0', '10000000', '1.5', 'x']) expect(() => readWhole('seed', text)).toThrow('--seed is a whole')
    expect(readInstant('expires', '2027-01-31')).toEqual(new Date('2027-01-31T00:00:00Z'))
    expect(() => readInstant('expires', 'soon')).toThrow('--expires is an instant')
    expect(readGrant('permissions', '{"api":{"misc":{}}}')).toEqual({ api: { misc: {} } })
    expect(() => readGrant('permissions', '{"api":{"x":{}}}')).toThrow('permissions.api.x: unknown category')
  })
})

describe('help', () => {
  it('is given of everything, of a noun, and of a command', () => {
    expect(helpFor(['account', 'list'])).toBeUndefined()
    expect(helpFor(['help'])).toMatch(
      /^The commands are:\n {2}account create --email … .*\n {2}account list\n {2}account limit .*\n {2}key /,
    )
    expect(helpFor(['credit', '--help'])).toMatch(
      /^The commands are:\n {2}credit grant [^\n]*\n {2}credit adjust [^\n]*$/,
    )
    const grant = helpFor(['credit', 'grant', '--help'])
    expect(grant).toContain('Usage:\n  credit grant --account … --amount … [--reason …] [--idempotency-key …]\n')
    expect(grant).toContain('--amount           dollars, above 0')
    expect(helpFor(['machine', 'import', '--help'])).toContain('\n  numGpus                 how many (a whole number')
  })

  it('comes with what is no command, and with what is wrong with one', () => {
    expect(() => findCommand(['machine', 'explode'])).toThrow(/^The commands are:\n {2}machine import/)
    expect(() => findCommand(['machine', 'drain'])).toThrow('Missing: --id.\nUsage:\n  machine drain --id …')
    expect(() => findCommand(['key', 'revoke', '--account', 'a@b.c'])).toThrow('Give either --id or --name.')
    const unnamed = ['key', 'revoke', '--account', 'a@b.c', '--name', '']
    expect(() => findCommand(unnamed)).toThrow('--name is empty. Revoke a key without a name by its --id.')
    expect(() => findCommand(['toString', 'call'])).toThrow('The commands are:\n  account create')
  })
})

it('a list is read to its end, page after page', async () => {
  const all = Array.from({ length: 2_000 }, (_, index) => ({ id: index + 1 }))
  const asked: number[] = []
  const readPage = async (after: number, limit: number) => {
    asked.push(after)
    return all.slice(after, after + limit)
  }
  const rows: { id: number }[] = []
  for await (const row of everyRow(readPage)) rows.push(row)
  expect(rows).toEqual(all)
  expect(asked).toEqual([0, 1_000, 2_000])
})
