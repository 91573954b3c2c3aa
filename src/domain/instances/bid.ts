import { DomainError, type Issue, invalidState } from '../errors.ts'
import { printUsd } from '../money.ts'
import { actionRefusal, type Instance } from './instances.ts'

/** Per hour, 0.001 $ to 128 $. */
export const bidRange = { min: 1_000_000n, max: 128_000_000_000n }

/** What is wrong with a bid, whatever it is for. */
export function checkBid(bidNanos: bigint): Issue | undefined {
  if (bidNanos >= bidRange.min && bidNanos <= bidRange.max) return undefined
  const [least, most, bid] = [bidRange.min, bidRange.max, bidNanos].map(printUsd)
  return { path: 'bid', message: `must be from ${least} to ${most} dollars an hour, not ${bid}.` }
}

/** An instance that is not destroyed, as far as its bid is concerned. */
export type Bidder = Pick<Instance, 'id' | 'targetState' | 'status' | 'interruptible' | 'computeNanos' | 'numGpus'>

/** What a new bid makes of an instance: a higher or a lower one, or what it is already. Refused by throwing. */
export function decideBid(bidder: Bidder, floorNanos: bigint, bidNanos: bigint): 'raised' | 'lowered' | 'unchanged' {
  const refusal = actionRefusal('changeBid', { ...bidder, destroyedAt: null })
  if (refusal) {
    const details = { instanceId: bidder.id, onDemand: !bidder.interruptible }
    throw new DomainError('INVALID_STATE', refusal, details)
  }
  if (bidNanos === bidder.computeNanos) return 'unchanged'
  if (bidNanos < floorNanos) throw bidTooLow(floorNanos)
  return bidNanos > bidder.computeNanos ? 'raised' : 'lowered'
}

/** What a bid must be to win; refused where none does. */
export function winningBid(id: bigint, minimumNanos: bigint | undefined): bigint {
  const most = bidRange.max
  if (minimumNanos !== undefined && minimumNanos <= most)
    return minimumNanos < bidRange.min ? bidRange.min : minimumNanos
  throw invalidState(id, 'No bid wins its GPUs now.')
}

/** The refusal of a bid under the floor of the host. */
export function bidTooLow(floorNanos: bigint): DomainError<'BID_TOO_LOW'> {
  const message = `The host accepts no bid under ${printUsd(floorNanos)} $ an hour for these GPUs.`
  return new DomainError('BID_TOO_LOW', message, { minimumBidNanos: floorNanos })
}
