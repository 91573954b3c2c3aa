import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { isSame, mutantsOf } from './candidates.ts'
import { inOrder } from './draw.ts'
import { explained } from './explained.ts'
import { createNearestTests } from './nearest.ts'
import { parseOptions } from './options.ts'
import { openProgram } from './program.ts'
import { missedGoals, printResults } from './report.ts'
import type { Result } from './results.ts'

const root = join(import.meta.dirname, '../..')
const program = openProgram(root)
const mutants = mutantsOf('src/domain/instances/bid.ts', program.parse('src/domain/instances/bid.ts'))

afterAll(() => program.close())

describe('mutants', () => {
  it('are drawn in the same order for the same seed, after those of an earlier run', () => {
    const drawn = (seed: number, earlier: Result[] = []) => inOrder(mutants, { seed, mutants: earlier })
    expect(drawn(1)).toEqual(drawn(1))
    expect(drawn(1)).not.toEqual(drawn(2))
    const last = drawn(1).at(-1) as Result
    expect(drawn(1, [last])).toEqual([last, ...drawn(1).slice(0, -1)])
  })

  it('that are explained exist, and have a reason', () => {
    const files = new Map(explained.map(({ file }) => [file, mutantsOf(file, program.parse(file))]))
    const gone = explained.filter(known => !files.get(known.file)?.some(mutant => isSame(known, mutant)))
    expect(gone).toEqual([])
    expect(explained.filter(({ reason }) => reason.length < 20)).toEqual([])
  })

  it('are tried first on the tests of their file', () => {
    const nearest = createNearestTests(root)
    expect(nearest('src/domain/instances/bid.ts')[0]).toBe('test/unit/instances/bid.test.ts')
    expect(nearest('src/services/instances/restart.ts').slice(0, 5)).toContain(
      'test/integration/instances/restarts.test.ts',
    )
    expect(nearest('src/services/instances/restart.ts')).not.toContain('test/unit/instances/bid.test.ts')
  })
})

describe('the report', () => {
  const resultsOf = (folder: string, outcomes: Result['outcome'][]) =>
    outcomes.map(outcome => ({ ...mutants[0], file: `${folder}/a.ts`, outcome, tests: 1 }) as Result)

  it('counts what TypeScript refuses apart, and never rounds up', () => {
    const results = resultsOf('src/domain', ['killed', 'timeout', 'survived', 'not compiled'])
    expect(printResults(results).split('\n').at(-1)).toBe('| `src/domain` | 1 | 1 | 1 | 1 | 66.6 % (2 of 3) |')
  })

  it('names the goals that are missed, of the rules and of the use cases together', () => {
    const killed = Array.from({ length: 9 }, () => 'killed' as const)
    const reached = [...resultsOf('src/services', killed), ...resultsOf('src/events', ['survived'])]
    expect(missedGoals(reached)).toEqual([])
    expect(missedGoals([...reached, ...resultsOf('src/domain', [...killed, 'survived'])])).toEqual([
      'The goal of src/domain is 97 %, not 90.0 % (9 of 10).',
    ])
  })
})

describe('the options', () => {
  it('have a random seed, 300 mutants and all folders by default', () => {
    const { seed, count, only, resume, results } = parseOptions([])
    expect({ count, folders: only.length, resume }).toEqual({ count: 300, folders: 4, resume: false })
    expect(results).toContain(`berth-mutants-${seed}.json`)
  })

  it.each([
    [['--seed', 'x'], '--seed must be a whole number above 0.'],
    [['--count', '0'], '--count must be a whole number above 0.'],
    [['--only', 'rest'], '--only takes names of domain, services, reconciler, events.'],
  ])('%j are refused', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message)
  })
})
