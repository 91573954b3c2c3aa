import { DomainError } from '../errors.ts'

/** Why an account cannot rent, start or do anything else that costs money: it has no credit left. */
export function creditError(availableNanos: bigint): DomainError | undefined {
  if (availableNanos > 0n) return undefined
  return new DomainError('INSUFFICIENT_CREDIT', 'You lack credit.', { availableNanos, neededNanos: null })
}
