// Changes the program at random places, and looks whether tests notice: see docs/contributing.md.

import { join } from 'node:path'
import { candidatesIn, type Mutant } from './candidates.ts'
import { inOrder } from './draw.ts'
import { isExplained } from './explained.ts'
import type { Folder } from './folders.ts'
import { createNearestTests } from './nearest.ts'
import { parseOptions } from './options.ts'
import { openProgram } from './program.ts'
import { describeResult, missedGoals, printResults } from './report.ts'
import { knownResult, missingIn, type Result, readResults, saveResults } from './results.ts'
import { runTests } from './run-tests.ts'
import { copyTree } from './working-copy.ts'

const checkout = join(import.meta.dirname, '../..')
const options = parseOptions(process.argv.slice(2))
const earlier = options.resume ? readResults(options.results) : { seed: options.seed, mutants: [] }
const { seed } = earlier
const results: Result[] = []
const say = (line: string) => process.stdout.write(`${line}\n`)

say(`Seed ${seed}. Results: ${options.results}`)
const copy = await copyTree(checkout)
const program = openProgram(copy.root)
// The copy's own, so that its migrations are those of its program, whatever happens to the checkout meanwhile.
const { startDatabases }: typeof import('../support/global-setup.ts') = await import(
  join(copy.root, 'test/support/global-setup.ts')
)
const { stop, ...databases } = await startDatabases(1)
try {
  const nearest = createNearestTests(copy.root)
  for (const folder of options.only) await tryFolder(folder, file => nearest(file).slice(0, options.tests))
} finally {
  program.close()
  await stop()
  await copy.remove()
}
saveResults(options.results, { seed, mutants: results })
const problems = missedGoals(results)
say(printResults(results))
for (const problem of problems) say(problem)
process.exitCode = problems.length > 0 ? 1 : 0

async function tryFolder({ path, share }: Folder, nearest: (file: string) => string[]): Promise<void> {
  const shares = options.only.reduce((sum, other) => sum + other.share, 0)
  const wanted = Math.round((options.count * share) / shares)
  const candidates = candidatesIn(copy.root, path, program)
  const drawn = inOrder(candidates, earlier)
  say(`${path}: ${wanted} of ${candidates.length} possible mutants`)
  await checkWithoutMutant(drawn.slice(0, 1).flatMap(({ file }) => nearest(file).slice(0, 3)))
  let counted = 0
  for (const mutant of drawn) {
    if (counted === wanted) return
    if (isExplained(mutant)) continue
    const known = knownResult(earlier, mutant)
    const result = known ?? (await copy.with(mutant, () => tryMutant(mutant, nearest(mutant.file))))
    results.push(result)
    if (result.outcome !== 'not compiled') counted += 1
    if (known) continue
    say(`${counted} ${describeResult(result)}`)
    saveResults(options.results, { seed, mutants: [...results, ...missingIn(results, earlier.mutants)] })
  }
}

/** Tests that fail anyway say nothing about a mutant. One that fails once, on a busy computer, may pass the next time. */
async function checkWithoutMutant(tests: string[], attempts = 3): Promise<void> {
  const outcome = await runTests(copy, databases, tests)
  if (outcome.outcome === 'survived') return
  say(`Without any mutant, a test fails: ${outcome.by}`)
  if (attempts === 1) throw new Error('Mutants can be tried only while all tests pass.')
  await checkWithoutMutant(tests, attempts - 1)
}

async function tryMutant(mutant: Mutant, tests: string[]): Promise<Result> {
  const [error] = program.errorsIn(mutant.file)
  if (error !== undefined) return { ...mutant, outcome: 'not compiled', by: error, tests: 0 }
  const outcome = await runTests(copy, databases, tests)
  return { ...mutant, ...outcome, tests: tests.length }
}
