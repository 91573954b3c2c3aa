import { DomainError } from '../errors.ts'

/** Why an account cannot have what costs money from now on: renting, starting and the like need something left to spend. */
export function creditProblem(availableNanos: bigint): DomainError | undefined {
  if (availableNanos > 0n) return undefined
  return new DomainError('INSUFFICIENT_CREDIT', 'You lack credit.', { availableNanos, neededNanos: null })
}
