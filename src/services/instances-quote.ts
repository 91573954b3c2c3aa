import { transaction } from '../database/transaction.ts'
import type { Actor } from '../domain/actor.ts'
import { type Forecast, foresee } from '../domain/instances-quote.ts'
import { decideRent, type RentWish, rateOf } from '../domain/instances-rent.ts'
import { authorise } from './authorise.ts'
import { problemsOfLimits } from './billing-limits-refuse.ts'
import type { Deps } from './deps.ts'
import { factsOf } from './instances-rent-facts.ts'
import { claimsOn } from './market.ts'
import { unavailableOffer } from './offers-unavailable.ts'

export function quoteServices(deps: Deps) {
  const { database, now, secrets } = deps

  return {
    /** What renting would come to now, and everything that stands against it. Nothing is done, and nothing is held. */
    async quote(actor: Actor, wish: RentWish): Promise<Forecast> {
      authorise(actor, 'instances.quote', { offerId: Number(wish.offerId) })
      const at = now()
      const decision = await transaction(database.pool, async tx => {
        const facts = await factsOf(tx, secrets, actor, wish, { lock: false, at })
        const claims = facts.listed ? await claimsOn(tx, [facts.listed.machine.id]) : []
        const forecast = foresee(decideRent(wish, facts, at), wish, facts, claims, at)
        const { launch, computeNanos } = forecast
        if (!facts.listed || !launch || computeNanos === undefined) return forecast
        const rateNanos = rateOf(facts.listed.machine, launch, computeNanos)
        const over = await problemsOfLimits(tx, facts.balance, [{ apiKeyId: actor.apiKeyId, rateNanos }])
        return { ...forecast, reasons: [...forecast.reasons, ...over] }
      })
      const reasons = decision.reasons.map(async reason =>
        reason.code === 'OFFER_UNAVAILABLE'
          ? await unavailableOffer(deps, actor, wish, decision.launch?.diskMb, at)
          : reason,
      )
      return { ...decision, reasons: await Promise.all(reasons) }
    },
  }
}
