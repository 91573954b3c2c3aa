import { createSeededRandom } from '../support/seeded-random.ts'
import { isSame, type Mutant } from './candidates.ts'
import type { Results } from './results.ts'

/** First those of an earlier run, as far as the code still has them, and then the others at random. */
export function inOrder(candidates: readonly Mutant[], { seed, mutants }: Results): Mutant[] {
  const random = createSeededRandom(seed)
  const earlier = mutants.flatMap(known => candidates.find(mutant => isSame(known, mutant)) ?? [])
  const others = candidates
    .map(mutant => ({ mutant, place: random.between(0, 2 ** 31) }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ mutant }) => mutant)
    .filter(mutant => !earlier.includes(mutant))
  return [...earlier, ...others]
}
