import { transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { runwayWith } from '../../../domain/billing/runway.ts'
import { type Forecast, foresee } from '../../../domain/instances/rent/quote.ts'
import { additionOf, decideRent, type RentWish, rateOf } from '../../../domain/instances/rent/rent.ts'
import { authorise } from '../../authorize.ts'
import { withProblemsOfAddition } from '../../billing/admission.ts'
import type { AccountBalance } from '../../billing/balance.ts'
import { problemsOfLimits } from '../../billing/limits/refuse.ts'
import type { Deps } from '../../deps.ts'
import { claimsOn } from '../../machines/market.ts'
import { unavailableOffer } from '../../offers/unavailable.ts'
import { factsOf } from './facts.ts'

/** `runwaySeconds`: for how long the credit lasts from then on; null where that cannot be said, or nothing costs. */
export type Quote = Forecast & { runwaySeconds: number | null }

export function quoteServices(deps: Deps) {
  const { database } = deps

  return {
    /** What renting would come to now, and everything that stands against it. Nothing is done, and nothing is held. */
    async quote(actor: Actor, wish: RentWish): Promise<Quote> {
      authorise(actor, 'instances.quote', { offerId: Number(wish.offerId) })
      const decision = await transaction(database, async tx => {
        const { at } = tx
        const facts = await factsOf(tx, deps, actor, wish, { lock: false })
        const claims = facts.listed ? await claimsOn(tx, [facts.listed.machine.id]) : []
        const forecast = foresee(decideRent(wish, facts, at), wish, facts, claims, at)
        const { launch, computeNanos } = forecast
        const runwaySeconds = runwayAfter(forecast, facts.balance)
        if (!facts.listed || !launch || computeNanos === undefined) return { ...forecast, runwaySeconds }
        const rateNanos = rateOf(facts.listed.machine, launch, computeNanos)
        const added = additionOf(facts.listed.machine, launch, computeNanos)
        const reasons = await withProblemsOfAddition(tx, deps.admission, facts.balance, added, forecast.reasons)
        const over = await problemsOfLimits(tx, facts.balance, [{ apiKeyId: actor.apiKeyId, rateNanos }])
        return { ...forecast, runwaySeconds, reasons: [...reasons, ...over] }
      })
      const reasons = decision.reasons.map(async reason =>
        reason.code === 'OFFER_UNAVAILABLE'
          ? await unavailableOffer(deps, actor, wish, decision.launch?.diskMb)
          : reason,
      )
      return { ...decision, reasons: await Promise.all(reasons) }
    },
  }
}

/** As if it had its GPUs at once. */
function runwayAfter({ launch, computeNanos, diskNanos, volumesNanos }: Forecast, balance: AccountBalance) {
  if (!launch || computeNanos === undefined || diskNanos === undefined || volumesNanos === undefined) return null
  const rates = {
    computeNanos: launch.targetState === 'running' ? computeNanos : 0n,
    diskNanos: diskNanos + volumesNanos,
  }
  return runwayWith(balance, rates)
}
