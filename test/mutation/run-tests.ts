import type { Databases } from '../support/global-setup.ts'
import { isolatedTests } from '../vitest.config.ts'
import { type Asked, type Failure, firstFailure } from './run-vitest.ts'

export type Outcome = { outcome: 'survived' } | { outcome: 'killed' | 'timeout'; by: string }

/** A test that waited so long may have failed by chance, on a busy computer, and must fail twice. */
const waitedMs = 5_000

/** Runs test files in the order given until one fails. Some files need a process of their own and come last. */
export async function runTests(root: string, databases: Databases, tests: string[]): Promise<Outcome> {
  const isolated = tests.filter(test => isolatedTests.includes(test))
  const together = tests.filter(test => !isolatedTests.includes(test))
  const failure =
    (await firstSureFailure(root, databases, { tests: together, isolated: false })) ??
    (await firstSureFailure(root, databases, { tests: isolated, isolated: true }))
  if (!failure) return { outcome: 'survived' }
  const isTimeout = /timed out in \d+ms|^no test ended/.test(failure.error)
  return { outcome: isTimeout ? 'timeout' : 'killed', by: `${failure.file} > ${failure.test}: ${failure.error}` }
}

async function firstSureFailure(root: string, databases: Databases, asked: Asked): Promise<Failure | undefined> {
  const failure = await firstFailure(root, databases, asked)
  if (!failure || failure.milliseconds < waitedMs) return failure
  if (await firstFailure(root, databases, { ...asked, tests: [failure.file] })) return failure
  const untried = asked.tests.slice(asked.tests.indexOf(failure.file) + 1)
  return firstSureFailure(root, databases, { ...asked, tests: untried })
}
