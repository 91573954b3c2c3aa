import { type Claim, selectGranted } from '../../machines/market.ts'
import { offerUnavailable, type RentDecision, type RentFacts, type RentInput, storageRates } from './decide.ts'

/** A decision before anything is done. */
export type Forecast = RentDecision & {
  /** What its disk costs per hour. */
  diskNanos: bigint | undefined
  /** What the volumes cost per hour that are made with it. */
  volumesNanos: bigint | undefined
  /** Whether it would have to wait for its GPUs. */
  waits: boolean
}

/** What a rental would be that is only asked about. Its GPUs are granted in thought, beside those who want them now. */
export function forecastRental(
  { launch, ports, computeNanos, blockers, warnings }: RentDecision,
  input: RentInput,
  { target }: RentFacts,
  claims: Claim[],
  at: Date,
): Forecast {
  const rates = launch && target ? storageRates(target.machine, launch) : undefined
  const prices = { computeNanos, diskNanos: rates?.diskNanos, volumesNanos: rates?.volumesNanos }
  if (!target || computeNanos === undefined || launch?.targetState === 'stopped') {
    return { launch, ports, ...prices, waits: false, blockers, warnings }
  }
  const { firstGpu, numGpus } = target.offer
  // The newest has the highest id.
  const instanceId = 2n ** 63n - 1n
  const { interruptible } = input.terms
  const claim = { instanceId, firstGpu, numGpus, interruptible, computeNanos, claimedAt: at, hasGpus: false }
  const waits = !selectGranted([...claims, claim]).includes(claim)
  const isUnavailable = blockers.some(({ code }) => code === 'OFFER_UNAVAILABLE')
  const waitBlockers = waits && input.cancelUnavailable && !isUnavailable ? [offerUnavailable(input)] : []
  return { launch, ports, ...prices, waits, blockers: [...blockers, ...waitBlockers], warnings }
}
