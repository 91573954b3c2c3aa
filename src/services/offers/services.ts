import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { offerServices } from './offers.ts'
import { offerWatchServices } from './watch.ts'

export function createOfferServices(deps: Deps) {
  return { offers: compose(offerServices(deps), offerWatchServices(deps)) }
}
