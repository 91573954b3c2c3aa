import { DomainError, type Issue, invalidState } from '../errors.ts'
import { printUsd } from '../money.ts'
import { type ActionState, requireAction } from './actions.ts'
import type { Instance } from './instances.ts'

/** Nano-dollars per hour: $0.001 to $128. */
export const bidRange = { min: 1_000_000n, max: 128_000_000_000n }

/** Checks what every bid must satisfy, for a rental and for a change. */
export function checkBid(bidNanos: bigint): Issue | undefined {
  if (bidNanos >= bidRange.min && bidNanos <= bidRange.max) return undefined
  const [least, most, bid] = [bidRange.min, bidRange.max, bidNanos].map(printUsd)
  return { path: 'bid', message: `must be from ${least} to ${most} dollars an hour, not ${bid}.` }
}

/** The facts of an instance that decide a bid change. */
export type Bidder = ActionState & Pick<Instance, 'id' | 'interruptible' | 'gpuPriceNanos' | 'firstGpu' | 'numGpus'>

/** Compares a new bid with the current one. Throws when the bid is refused. */
export function decideBid(bidder: Bidder, floorNanos: bigint, bidNanos: bigint): 'raised' | 'lowered' | 'unchanged' {
  requireAction('updateBid', bidder.id, bidder)
  if (bidNanos === bidder.gpuPriceNanos) return 'unchanged'
  if (bidNanos < floorNanos) throw bidTooLow(floorNanos)
  return bidNanos > bidder.gpuPriceNanos ? 'raised' : 'lowered'
}

/** The lowest allowed bid that wins. Throws when no allowed bid wins. */
export function winningBid(id: bigint, minimumNanos: bigint | undefined): bigint {
  const most = bidRange.max
  if (minimumNanos !== undefined && minimumNanos <= most)
    return minimumNanos < bidRange.min ? bidRange.min : minimumNanos
  throw invalidState(id, `No bid up to $${printUsd(most)} an hour wins the GPUs of this instance now. Try again later.`)
}

export function bidTooLow(floorNanos: bigint): DomainError<'BID_TOO_LOW'> {
  const message = `The host accepts no bid under $${printUsd(floorNanos)} an hour for these GPUs.`
  return new DomainError('BID_TOO_LOW', message, { minimumBidNanos: floorNanos })
}
