import { describe, expect, it } from 'vitest'
import { readAllRows } from '../../../src/operator/command.ts'
import { findCommand, helpFor } from '../../../src/operator/commands.ts'
import {
  parseAmountOption,
  parseIdOption,
  parseInstantOption,
  parseOptions,
  parsePermissionsOption,
  parseSignedAmountOption,
  parseWholeOption,
} from '../../../src/operator/options.ts'

const optionTable = {
  email: { required: true, meaning: 'email address' },
  name: { meaning: 'display name' },
  'dry-run': { flag: true, meaning: 'change nothing' },
} as const
const parse = (...args: string[]) => parseOptions(optionTable, args)

describe('options', () => {
  it('have a value, or are flags', () => {
    expect(parse('--email', 'a@b.c')).toEqual({ email: 'a@b.c', 'dry-run': false })
    expect(parse('--dry-run', '--name=Ada', '--email=')).toEqual({ email: '', name: 'Ada', 'dry-run': true })
  })

  it('accept values that begin with a dash, unless they are flags', () => {
    expect(parse('--email', '-5', '--name', '-x=y')).toEqual({ email: '-5', name: '-x=y', 'dry-run': false })
    expect(() => parse('--email', 'x', '--dry-run', '-y')).toThrow("Unknown option '-y'")
  })

  it('may be an operand, in any place', () => {
    const table = {
      file: { required: true, operand: true, meaning: 'a file' },
      replace: { flag: true, meaning: '' },
    } as const
    for (const args of [
      ['a.backup', '--replace'],
      ['--replace', 'a.backup'],
      ['--file', 'a.backup', '--replace'],
    ])
      expect(parseOptions(table, args)).toEqual({ file: 'a.backup', replace: true })
    expect(() => parseOptions(table, ['--replace'])).toThrow('Missing FILE.')
    for (const args of [
      ['a.backup', 'b.backup'],
      ['--file', 'a.backup', 'b.backup'],
    ])
      expect(() => parseOptions(table, args)).toThrow("Only one file can be given, not also 'b.backup'.")
  })

  it.each([
    [[], 'Missing --email.'],
    [['--email'], "'--email <value>' argument missing"],
    [['--email', 'x', '--color', 'red'], "Unknown option '--color'"],
    [['--emial', 'x'], `Unknown option '--emial'. Did you mean "--email"?`],
    [['--email', 'x', 'y'], "Unexpected argument 'y'"],
    [['--email', 'x', '--dry-run=yes'], "'--dry-run' does not take an argument"],
  ])('refuse %j by the name of the option', (args, message) => {
    expect(() => parse(...args)).toThrow(message)
  })

  it('parse each type, and name the option in errors', () => {
    expect(parseAmountOption('amount', '0.5')).toBe(500_000_000n)
    expect(() => parseAmountOption('amount', '-1')).toThrow('--amount must be an amount in US dollars')
    expect(parseSignedAmountOption('amount', '-0.5')).toBe(-500_000_000n)
    expect(() => parseSignedAmountOption('amount', '1e3')).toThrow(
      'US dollars, above or below 0, with at most nine decimal places, not "1e3"',
    )
    expect(parseWholeOption('seed', '9999999')).toBe(9_999_999)
    for (const text of ['0', '10000000', '1.5', 'x'])
      expect(() => parseWholeOption('seed', text)).toThrow('--seed must be a whole')
    expect(['421', 'mch_421'].map(text => parseIdOption('Machine', 'id', text))).toEqual([421, 421])
    for (const text of ['ins_421', 'mch_', 'mch_0', '0', '2147483648', ' 1'])
      expect(() => parseIdOption('Machine', 'id', text)).toThrow(
        `--id must be an id such as 42 or mch_42, not "${text}".`,
      )
    expect(parseIdOption('Instance', 'id', 'ins_2147483648')).toBe(2_147_483_648)
    expect(() => parseIdOption('Instance', 'id', '9007199254740992')).toThrow('--id must be an id such as 42 or ins_42')
    expect(parseInstantOption('expires', '2027-01-31')).toEqual(new Date('2027-01-31T00:00:00Z'))
    expect(() => parseInstantOption('expires', 'soon')).toThrow('--expires must be a time')
    expect(parsePermissionsOption('permissions', '{"api":{"misc":{}}}')).toEqual({ api: { misc: {} } })
    expect(() => parsePermissionsOption('permissions', '{"api":{"x":{}}}')).toThrow(
      'permissions.api.x: is not a category',
    )
  })
})

describe('help', () => {
  it('covers all commands, a noun, and one command', () => {
    expect(helpFor(['account', 'list'])).toBeUndefined()
    expect(helpFor(['help'])).toMatch(
      /^The commands are:\n {2}account create {6}Creates an account [^\n]* access\.\n {2}account list {8}Lists all accounts\.\n/,
    )
    expect(helpFor(['credit', '--help'])).toMatch(
      /^The commands are:\n {2}credit grant {3}Adds [^\n]*\n {2}credit adjust {2}[^\n]*\n"help NOUN VERB" explains one of them\.$/,
    )
    const grant = helpFor(['credit', 'grant', '--help'])
    expect(grant).toContain('Usage:\n  credit grant --account … --amount … [--reason …] [--idempotency-key …]\n')
    expect(grant).toContain('--amount           US dollars, above 0')
    expect(helpFor(['machine', 'import', '--help'])).toContain(
      '\n  numGpus                 number of GPUs (a whole number',
    )
  })

  it('follows the error for an unknown command or a wrong option', () => {
    expect(() => findCommand(['machine', 'explode'])).toThrow(
      /^There is no command "machine explode"\. The commands are "machine import", [^\n]*$/,
    )
    expect(() => findCommand(['account', 'lst'])).toThrow(
      /^There is no command "account lst"\. Did you mean "account list"\?$/,
    )
    expect(() => findCommand(['xyzzy'])).toThrow(/^There is no command "xyzzy"\. "help" lists all commands\.$/)
    expect(() => findCommand([])).toThrow(/^The commands are:\n.*\nNo command is given\.$/s)
    expect(() => findCommand(['machine', 'set', '--id', '1', '--numGpus', '8'])).toThrow(
      /^Unknown option '--numGpus'\.[^\n]*\nUsage:\n {2}machine set --id … \[options\]$/,
    )
    expect(() => findCommand(['machines', 'lst'])).toThrow(
      /^There is no command "machines lst"\. Did you mean "machine list"\?$/,
    )
    expect(() => findCommand(['machine', 'drain'])).toThrow('Missing --id.\nUsage:\n  machine drain --id …')
    expect(() => findCommand(['key', 'revoke', '--account', 'a@b.c'])).toThrow('Give either --id or --name.')
    const unnamed = ['key', 'revoke', '--account', 'a@b.c', '--name', '']
    expect(() => findCommand(unnamed)).toThrow('--name is empty. Revoke a key without a name by its --id.')
    const byName = ['key', 'revoke', '--name', 'laptop']
    expect(() => findCommand(byName)).toThrow('Give the --account whose keys have the --name.')
    expect(() => findCommand(['account', 'show'])).toThrow('Missing --account.\nUsage:\n  account show --account …')
    for (const name of ['--account', '--email', '--id'])
      expect(findCommand(['account', 'show', name, 'acc_7']).isLocal).toBe(false)
    expect(() => findCommand(['account', 'show', '--account', '7', '--id', '8'])).toThrow(
      'Give only one of --account and --id.',
    )
    expect(() => findCommand(['ledger', 'list', '--account', 'ada'])).toThrow(
      '--account must be an email address, or an id such as 42 or acc_42, not "ada".',
    )
    expect(() => findCommand(['account', 'cap', '--id', 'acc_7'])).toThrow(
      'No cap is given. Give at least one of --hour',
    )
    expect(() => findCommand(['instance', 'list', '--status', 'runing'])).toThrow(
      '--status has the unknown status "runing". Did you mean "running"?',
    )
    expect(() => findCommand(['instance', 'list', '--status', 'gone'])).toThrow('The statuses are created, scheduling')
    expect(() => findCommand(['instance', 'stop', '--id', 'ins_7'])).toThrow(
      'Missing --reason.\nUsage:\n  instance stop',
    )
    expect(() => findCommand(['toString', 'call'])).toThrow('There is no command "toString call".')
  })
})

it('reads a list to its end, page after page', async () => {
  const all = Array.from({ length: 2_000 }, (_, index) => ({ id: index + 1 }))
  const requestedAfter: number[] = []
  const readPage = async (after: number, limit: number) => {
    requestedAfter.push(after)
    return all.slice(after, after + limit)
  }
  const rows: { id: number }[] = []
  for await (const row of readAllRows(readPage)) rows.push(row)
  expect(rows).toEqual(all)
  expect(requestedAfter).toEqual([0, 1_000, 2_000])
})
