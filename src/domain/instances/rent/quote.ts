import { type Claim, selectGranted } from '../../machines/market.ts'
import { offerUnavailable, type RentDecision, type RentFacts, type RentInput, storageRates } from './decide.ts'

/** A decision with its prices, before anything is rented. */
export type Forecast = RentDecision & {
  diskNanos: bigint | undefined
  /** The hourly price of the volumes to be made. */
  volumesNanos: bigint | undefined
  /** Whether the instance would wait for its GPUs. */
  waits: boolean
}

/** Forecasts a rental. Its claim competes with the current claims, but nothing is granted. */
export function forecastRental(
  { launch, ports, gpuPriceNanos, blockers, warnings }: RentDecision,
  input: RentInput,
  { target }: RentFacts,
  claims: Claim[],
  at: Date,
): Forecast {
  const rates = launch && target ? storageRates(target.machine, launch) : undefined
  const prices = { gpuPriceNanos, diskNanos: rates?.diskNanos, volumesNanos: rates?.volumesNanos }
  if (!target || gpuPriceNanos === undefined || launch?.targetState === 'stopped') {
    return { launch, ports, ...prices, waits: false, blockers, warnings }
  }
  const { firstGpu, numGpus } = target.offer
  // The newest instance has the highest id.
  const instanceId = 2n ** 63n - 1n
  const { interruptible } = input.terms
  const claim = { instanceId, firstGpu, numGpus, interruptible, gpuPriceNanos, claimedAt: at, holdsGpus: false }
  const waits = !selectGranted([...claims, claim]).includes(claim)
  const isUnavailable = blockers.some(({ code }) => code === 'OFFER_UNAVAILABLE')
  const waitBlockers = waits && input.failIfUnavailable && !isUnavailable ? [offerUnavailable(input)] : []
  return { launch, ports, ...prices, waits, blockers: [...blockers, ...waitBlockers], warnings }
}
