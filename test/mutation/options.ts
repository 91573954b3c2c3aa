import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Folder, folders } from './folders.ts'

export type Options = {
  seed: number
  /** How many mutants, of those that compile. */
  count: number
  /** The folders to draw from. */
  only: readonly Folder[]
  /** The most test files that one mutant is tried on, the nearest first. */
  tests: number
  /** Where the results are. With `resume` they are there already, and only mutants that are not killed there are tried. */
  results: string
  resume: boolean
}

export function parseOptions(args: string[]): Options {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args,
    options: { seed: text, count: text, only: text, tests: text, resume: text },
  })
  const number = (name: 'seed' | 'count' | 'tests', otherwise: number) => {
    const value = Number(values[name] ?? otherwise)
    if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} must be a whole number above 0.`)
    return value
  }
  const seed = number('seed', 1 + Math.floor(Math.random() * 999_999))
  return {
    seed,
    count: number('count', 300),
    tests: number('tests', 1_000),
    only: values.only ? values.only.split(',').map(folderNamed) : folders,
    results: values.resume ?? join(tmpdir(), `berth-mutants-${seed}.json`),
    resume: values.resume !== undefined,
  }
}

function folderNamed(name: string): Folder {
  const found = folders.find(folder => folder.path === `src/${name}`)
  if (!found) throw new Error(`--only takes names of ${folders.map(({ path }) => path.slice(4)).join(', ')}.`)
  return found
}
