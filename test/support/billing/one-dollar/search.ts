import fc from 'fast-check'
import { openOneDollar } from './scenario.ts'
import { sequences } from './steps.ts'

export type SearchOptions = {
  seed: number
  numRuns: number
  /** After the first sequence that fails, at most so many simpler ones are tried. */
  maxShrinks: number
  /** Told after each sequence. */
  onRun?: (count: number) => void
}

/** Runs random sequences. Returns how often the search has been where it matters. */
export async function searchOneDollar({ seed, numRuns, maxShrinks, onRun }: SearchOptions) {
  let site = await openOneDollar()
  let hasFailed = false
  let [runs, shrinks] = [0, 0]
  const property = fc.asyncProperty(sequences, async steps => {
    if (hasFailed) shrinks += 1
    if (shrinks > maxShrinks) return
    try {
      await site.run(steps)
      runs += 1
      onRun?.(runs)
    } catch (error) {
      const isDisturbed = site.isDisturbed(error)
      // What the failure left behind must not fail the next sequence.
      await site.close()
      site = await openOneDollar()
      fc.pre(!isDisturbed)
      hasFailed = true
      throw error
    }
  })
  try {
    await fc.assert(property, { seed, numRuns })
    return site.seen
  } finally {
    await site.close()
  }
}
