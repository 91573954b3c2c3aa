import { transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { runwayAfterAdding } from '../../../domain/billing/runway.ts'
import { decideRent, type RentInput, rentalHoldings, rentalRate } from '../../../domain/instances/rent/decide.ts'
import { type Forecast, forecastRental } from '../../../domain/instances/rent/quote.ts'
import { authorize, permissionErrors } from '../../authorize.ts'
import { addAdmissionErrors } from '../../billing/admission.ts'
import type { AccountBalance } from '../../billing/balance.ts'
import { findLimitErrors } from '../../billing/limits/check.ts'
import type { Deps } from '../../deps.ts'
import { loadClaims } from '../../machines/market.ts'
import { explainUnavailableOffer } from '../../offers/unavailable.ts'
import { loadRentFacts } from './facts.ts'

/** `runwaySeconds`: how long the credit lasts after renting; null when unknown, or when nothing is charged. */
export type RentalQuote = Forecast & { runwaySeconds: number | null }

export function quoteServices(deps: Deps) {
  const { database } = deps

  return {
    /** The price and all blockers of a new rental now, in the order in which renting meets them. Nothing is reserved. */
    async quote(actor: Actor, input: RentInput): Promise<RentalQuote> {
      authorize(actor, 'instances.quote', { offerId: Number(input.offerId) })
      const mayNotRent = permissionErrors(actor, 'instances.rent', { offerId: Number(input.offerId) })
      const decision = await transaction(database, async tx => {
        const { at } = tx
        const facts = await loadRentFacts(tx, deps, actor, input)
        const claims = facts.target ? await loadClaims(tx, [facts.target.machine.id]) : []
        const decided = decideRent(input, facts, at)
        const forecast = forecastRental(decided, input, facts, claims, at)
        const forbidden = [...mayNotRent, ...facts.forbidden]
        const { launch, gpuPriceNanos } = forecast
        const runwaySeconds = runwayAfter(forecast, facts.balance)
        if (!facts.target || !launch || gpuPriceNanos === undefined) return { ...forecast, runwaySeconds, forbidden }
        const rateNanos = rentalRate(facts.target.machine, launch, gpuPriceNanos)
        const added = rentalHoldings(facts.target.machine, launch, gpuPriceNanos)
        const blockers = await addAdmissionErrors(tx, deps.admission, facts.balance, added, forecast.blockers)
        const limitErrors = await findLimitErrors(tx, facts.balance, [{ apiKeyId: actor.apiKeyId, rateNanos }])
        return { ...forecast, runwaySeconds, forbidden, blockers: [...blockers, ...limitErrors] }
      })
      const { forbidden, ...quote } = decision
      const blockers = quote.blockers.map(async blocker =>
        blocker.code === 'OFFER_UNAVAILABLE'
          ? await explainUnavailableOffer(deps, actor, input, quote.launch?.diskMb)
          : blocker,
      )
      return { ...quote, blockers: [...forbidden, ...(await Promise.all(blockers))] }
    },
  }
}

/** The runway as if the instance got its GPUs at once. */
function runwayAfter({ launch, gpuPriceNanos, diskNanos, volumesNanos }: Forecast, balance: AccountBalance) {
  if (!launch || gpuPriceNanos === undefined || diskNanos === undefined || volumesNanos === undefined) return null
  const rates = {
    gpuPriceNanos: launch.targetState === 'running' ? gpuPriceNanos : 0n,
    diskNanos: diskNanos + volumesNanos,
  }
  return runwayAfterAdding(balance, rates)
}
