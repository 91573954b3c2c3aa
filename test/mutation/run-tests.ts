import type { Databases } from '../support/global-setup.ts'
import { isolatedTests } from '../vitest.config.ts'
import { type Asked, type Failure, firstFailure } from './run-vitest.ts'
import type { WorkingCopy } from './working-copy.ts'

export type Outcome = { outcome: 'survived' } | { outcome: 'killed' | 'timeout'; by: string }

/** A test that waited so long, or that was refused something, may have failed by chance, on a busy computer. */
const waitedMs = 5_000
const refusal = /timeout exceeded|\b503\b|UNAVAILABLE/

/** Runs test files in the order given until one fails. Some files need a process of their own and come last. */
export async function runTests(copy: WorkingCopy, databases: Databases, tests: string[]): Promise<Outcome> {
  const isolated = tests.filter(test => isolatedTests.includes(test))
  const together = tests.filter(test => !isolatedTests.includes(test))
  const failure =
    (await firstSureFailure(copy, databases, { tests: together, isolated: false })) ??
    (await firstSureFailure(copy, databases, { tests: isolated, isolated: true }))
  if (!failure) return { outcome: 'survived' }
  const isTimeout = /timed out in \d+ms|^no test ended/.test(failure.error)
  return { outcome: isTimeout ? 'timeout' : 'killed', by: `${failure.file} > ${failure.test}: ${failure.error}` }
}

/** A doubtful failure must happen twice, and not without the mutant. */
async function firstSureFailure(copy: WorkingCopy, databases: Databases, asked: Asked): Promise<Failure | undefined> {
  const failure = await firstFailure(copy.root, databases, asked)
  if (!failure || !isDoubtful(failure)) return failure
  const again = () => firstFailure(copy.root, databases, { ...asked, tests: [failure.file] })
  if ((await again()) && !(await copy.without(again))) return failure
  const untried = asked.tests.slice(asked.tests.indexOf(failure.file) + 1)
  return firstSureFailure(copy, databases, { ...asked, tests: untried })
}

export function isDoubtful({ file, error, isWholeFile, milliseconds }: Failure): boolean {
  return file !== '' && (isWholeFile || milliseconds >= waitedMs || refusal.test(error))
}
