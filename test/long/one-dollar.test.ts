// The most that any sequence of requests can make an account owe is what its quotes said. test/property/billing has the same
// search against the rules alone.

import { expect, it } from 'vitest'
import { searchOneDollar } from '../support/billing/one-dollar/search.ts'

// FC_SEED repeats a run, but not how requests that are sent at once interleave. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 300)

it(
  `owes at most what its quotes said, whatever it requests (seed ${seed})`,
  async () => {
    const seen = await searchOneDollar({
      ...{ seed, numRuns, maxShrinks: 60 },
      onRun: count => void (count % 25 === 0 && process.stdout.write(`${count} sequences\n`)),
    })
    process.stdout.write(`${JSON.stringify({ seed, sequences: numRuns, ...seen })}\n`)
    for (const [state, steps] of Object.entries(seen)) expect([state, steps > numRuns / 2]).toEqual([state, true])
  },
  60_000 * numRuns,
)
