import { readFileSync, writeFileSync } from 'node:fs'
import { isSame, type Mutant } from './candidates.ts'

/** What became of a mutant. TypeScript refuses some: those are no part of the score. */
export type Result = Mutant & {
  outcome: 'killed' | 'timeout' | 'survived' | 'not compiled'
  /** The test that failed, or why TypeScript refuses it. */
  by?: string
  /** How many test files it was tried on, at most. */
  tests: number
}

export type Results = { seed: number; mutants: Result[] }

export function readResults(path: string): Results {
  return JSON.parse(readFileSync(path, 'utf8'))
}

export function saveResults(path: string, results: Results): void {
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`)
}

/** The result of an earlier run that need not be found again. */
export function knownResult({ mutants }: Results, mutant: Mutant): Result | undefined {
  return mutants.find(known => isSame(known, mutant) && known.outcome !== 'survived')
}

export function missingIn(results: readonly Result[], earlier: readonly Result[]): Result[] {
  return earlier.filter(known => !results.some(result => isSame(result, known)))
}
