import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { printResult } from '../../../src/operator/print.ts'
import { printBlock, printTable } from '../../../src/operator/table.ts'

const rows = [
  { id: 7, name: 'Ada', credit: '12.5', revokedAt: null },
  { id: 12, name: 'Grace 🚀', credit: '-0.25', revokedAt: new Date(0) },
]

describe('a table', () => {
  it('has a column for each name, numbers at the right', () => {
    expect(printTable(rows, 80)).toBe(
      ['id  name     credit  revokedAt', ' 7  Ada        12.5', '12  Grace 🚀   -0.25  1970-01-01 00:00', ''].join(
        '\n',
      ),
    )
  })

  it('becomes blocks of lines on a terminal that is too narrow for it', () => {
    expect(printTable(rows, 37)).toMatch(/^id {2}name/)
    expect(printTable(rows, 36)).toMatch(/ 1970-01-01 00:…\n$/)
    expect(printTable(rows, 32)).toBe(
      [
        'id         7',
        'name       Ada',
        'credit     12.5',
        'revokedAt',
        '',
        'id         12',
        'name       Grace 🚀',
        'credit     -0.25',
        'revokedAt  1970-01-01T00:00:00.000Z',
        '',
      ].join('\n'),
    )
  })

  it('has the columns that are chosen, without those that are empty', () => {
    const chosen = ['name', 'nothing', 'id']
    expect(printTable([{ id: 7, name: 'Ada', nothing: null, more: 'x'.repeat(90) }], 40, chosen)).toBe(
      'name  id\nAda    7\n',
    )
    expect(printTable([{ id: 7, name: 'Ada', nothing: null, more: 'x' }], 3, chosen)).toBe(
      'name     Ada\nnothing\nid       7\n',
    )
  })

  it('cuts the longest texts until it fits, but no number', () => {
    const row = { account: `${'a'.repeat(30)}@example.com`, host: 'hooks.example.com', cost: '123456789.123456789' }
    expect(printTable([row], 60).split('\n')).toEqual([
      'account               host                              cost',
      `${'a'.repeat(19)}…  hooks.example.com  123456789.123456789`,
      '',
    ])
    expect(printTable([row], 40)).toMatch(/^account {2}a/)
  })

  it('shows no control characters of others, and objects as JSON', () => {
    expect(printBlock({ label: 'a\u001b[2J\nb', quotas: { volumes: 3 } })).toBe(
      'label   a�[2J�b\nquotas  {"volumes":3}\n',
    )
  })
})

describe('the answer of a command', () => {
  async function print(
    answer: Parameters<typeof printResult>[0],
    terminal: { isTTY?: boolean; columns?: number },
    display?: Parameters<typeof printResult>[2],
  ) {
    let text = ''
    const output = new Writable({
      write(chunk, _encoding, done) {
        text += chunk
        done()
      },
    })
    await printResult(answer, Object.assign(output, terminal), display)
    return text
  }
  async function* list(count: number) {
    for (let id = 1; id <= count; id += 1) yield { id }
  }

  it('is JSON for programs', async () => {
    expect(await print({ id: 1, none: null }, {})).toBe('{"id":1,"none":null}\n')
    expect(await print(list(2), {})).toBe('{"id":1}\n{"id":2}\n')
    expect(await print(list(0), {})).toBe('')
  })

  it('is a line of text for each row of a list that people read so, and JSON for programs', async () => {
    const lineOf = ({ id }: Record<string, unknown>) => `line\u001b[2J ${id}`
    expect(await print(list(2), { isTTY: true, columns: 3 }, { lineOf })).toBe('line�[2J 1\nline�[2J 2\n')
    expect(await print(list(0), { isTTY: true }, { lineOf })).toBe('There are none.\n')
    expect(await print(list(1), {}, { lineOf })).toBe('{"id":1}\n')
    const linesOf = ({ id }: Record<string, unknown>) => [`${id}`, 'a\nb']
    expect(await print(list(2), { isTTY: true }, { lineOf: linesOf })).toBe('1\na�b\n2\na�b\n')
  })

  it('is a block of lines or a table on a terminal', async () => {
    expect(await print({ id: 1, name: 'x' }, { isTTY: true })).toBe('id    1\nname  x\n')
    expect(await print(list(2), { isTTY: true })).toBe('id\n 1\n 2\n')
    expect(await print(list(0), { isTTY: true })).toBe('There are none.\n')
    expect(await print(list(1_000), { isTTY: true })).toMatch(/^ {2}id\n {3}1\n.*\n1000\n$/s)
  })
})
