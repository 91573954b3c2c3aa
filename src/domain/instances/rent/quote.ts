import { assign, type Claim } from '../../machines/market.ts'
import { type Decision, offerUnavailable, type RentFacts, type RentWish, storageRates } from './rent.ts'

/** A decision before anything is done. */
export type Forecast = Decision & {
  /** What its disk costs per hour. */
  diskNanos: bigint | undefined
  /** What the volumes cost per hour that are made with it. */
  volumesNanos: bigint | undefined
  /** Whether it would have to wait for its GPUs. */
  waits: boolean
}

/** What a rental would be that is only asked about. Its GPUs are granted in thought, beside those who want them now. */
export function foresee(
  { launch, ports, computeNanos, reasons, warnings }: Decision,
  wish: RentWish,
  { listed }: RentFacts,
  claims: Claim[],
  at: Date,
): Forecast {
  const rates = launch && listed ? storageRates(listed.machine, launch) : undefined
  const prices = { computeNanos, diskNanos: rates?.diskNanos, volumesNanos: rates?.volumesNanos }
  if (!listed || computeNanos === undefined || launch?.targetState === 'stopped') {
    return { launch, ports, ...prices, waits: false, reasons, warnings }
  }
  const { firstGpu, numGpus } = listed.offer
  // The newest has the highest id.
  const instanceId = 2n ** 63n - 1n
  const { interruptible } = wish.terms
  const claim = { instanceId, firstGpu, numGpus, interruptible, computeNanos, claimedAt: at, holds: false }
  const waits = !assign([...claims, claim]).includes(claim)
  const isGone = reasons.some(({ code }) => code === 'OFFER_UNAVAILABLE')
  const gone = waits && wish.cancelUnavailable && !isGone ? [offerUnavailable(wish)] : []
  return { launch, ports, ...prices, waits, reasons: [...reasons, ...gone], warnings }
}
