import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { volumeOfferServices } from './offers.ts'
import { volumeUpdateServices } from './update.ts'
import { volumeReadServices } from './volumes.ts'

export function createVolumeServices(deps: Deps) {
  return { volumes: compose(volumeReadServices(deps), volumeUpdateServices(deps), volumeOfferServices(deps)) }
}
