// The most that any sequence of requests can make an account owe is what its quotes said. Random sequences are sent to two
// gateways.

import { it } from 'vitest'
import { searchOneDollar } from '../../support/billing/one-dollar/search.ts'

// The same few sequences each time: test/long searches. FC_SEED chooses others, and FC_RUNS how many.
const seed = Number(process.env['FC_SEED'] ?? 1)
const numRuns = Number(process.env['FC_RUNS'] ?? 5)

it(`owes at most what its quotes said, whatever it requests (seed ${seed})`, async () => {
  await searchOneDollar({ seed, numRuns, maxShrinks: 20 })
}, 600_000)
