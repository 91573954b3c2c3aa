import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { offerNameServices } from './names.ts'
import { offerReadServices } from './offers.ts'
import { offerWatchServices } from './watch.ts'

export function createOfferServices(deps: Deps) {
  return { offers: compose(offerReadServices(deps), offerNameServices(deps), offerWatchServices(deps)) }
}
