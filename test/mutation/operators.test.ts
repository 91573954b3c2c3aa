import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mutantsOf, mutate } from './candidates.ts'
import { openProgram, type Program } from './program.ts'

const cases: [string, string, string[]][] = [
  ['comparison', 'x < 5n', ['x <= 5n', 'x >= 5n', 'x < 6n']],
  ['equality', 'x === y', ['x !== y']],
  ['and', 'x && y', ['x || y']],
  ['default', 'x ?? y', ['y']],
  ['calculation', 'x + y * 2', ['x - y * 2', 'x + y / 2', 'x + y * 3']],
  ['choice', 'x ? y : z', ['!(x) ? y : z']],
  ['choice of the smaller', 'x < y ? x : y', ['!(x < y) ? x : y', 'x >= y ? x : y']],
  ['negation', '!x', ['x']],
  ['boolean', '{ x: true, y: false }', ['{ x: false, y: false }', '{ x: true, y: true }']],
  ['constant', '[1_000, 0.5]', ['[1001, 0.5]']],
  ['method', 'x.some(y)', ['x.every(y)']],
  ['filter', 'x.filter(y).length', ['x.length']],
  ['string', "'1 < 2'", []],
  ['template', '`1 < $' + '{x < y}`', ['`1 < $' + '{x <= y}`', '`1 < $' + '{x >= y}`']],
  ['type', 'x as 1 | true', []],
]

const statements: [string, string, string[]][] = [
  ['early exit', 'if (x) return', ['if (!(x)) return', '{}']],
  ['early exit in braces', 'if (x) { throw y }', ['if (!(x)) { throw y }', '{}']],
  ['condition with another way', 'if (x) return; else z()', ['if (!(x)) return; else z()', 'if (x) return; else {}']],
  ['call', 'await x(y)', ['{}']],
  ['assignment', 'x += y', ['{}', 'x -= y']],
  ['import', "import type { x } from 'y'", []],
  ['comment', '// x < y', []],
]

let root: string
let program: Program

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'berth-operators-'))
  await writeFile(join(root, 'tsconfig.json'), '{ "compilerOptions": { "types": [] } }')
  const all = [...cases.map(([, code]) => `const a = ${code}`), ...statements.map(([, code]) => code)]
  for (const [index, code] of all.entries()) await writeFile(join(root, `${index}.ts`), code)
  program = openProgram(root)
})

afterAll(async () => {
  program.close()
  await rm(root, { recursive: true })
})

const changesOf = (index: number) => {
  const source = program.parse(`${index}.ts`)
  return mutantsOf(`${index}.ts`, source).map(({ edit }) => mutate(source.text, edit))
}

describe('a mutant', () => {
  it.each(cases.map((row, index) => [...row, index] as const))('of a %s', (_, __, expected, index) => {
    expect(changesOf(index)).toEqual(expected.map(code => `const a = ${code}`))
  })

  it.each(statements.map((row, index) => [...row, index] as const))('of a %s', (_, __, expected, index) => {
    expect(changesOf(cases.length + index)).toEqual(expected)
  })

  it('is refused if TypeScript refuses it, and its file is taken again afterwards', async () => {
    const path = join(root, '0.ts')
    await writeFile(path, 'export const a: number = "text"')
    expect(program.errorsIn('0.ts')).toEqual([expect.stringContaining('not assignable')])
    await writeFile(path, 'export const a = 1')
    expect(program.errorsIn('1.ts').length).toBeGreaterThan(0)
    expect(program.errorsIn('0.ts')).toEqual([])
  })
})
