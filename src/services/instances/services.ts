import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { bidServices } from './bid.ts'
import { commandServices } from './bulk/command.ts'
import { changeLaunchServices } from './change-launch.ts'
import { executeServices } from './execute.ts'
import { logServices } from './logs.ts'
import { metricsServices } from './metrics/metrics.ts'
import { metricsWatchServices } from './metrics/watch.ts'
import { notebookTokenServices } from './notebooks/tokens.ts'
import { policyUpdateServices } from './policy/update.ts'
import { instanceReadServices } from './read.ts'
import { bestOfferServices } from './rent/best-offer.ts'
import { rentManyServices } from './rent/many.ts'
import { quoteServices } from './rent/quote.ts'
import { rentServices } from './rent/rent.ts'
import { restartServices } from './restart.ts'
import { resultServices } from './results.ts'
import { instanceSearchServices } from './search/search.ts'
import { instanceWatchServices } from './watch.ts'

export function createInstanceServices(deps: Deps) {
  const renting = rentServices(deps)
  return {
    instances: compose(
      instanceReadServices(deps),
      instanceSearchServices(deps),
      renting,
      rentManyServices(deps, renting),
      quoteServices(deps),
      bestOfferServices(deps),
      commandServices(deps),
      bidServices(deps),
      restartServices(deps),
      changeLaunchServices(deps),
      policyUpdateServices(deps),
      instanceWatchServices(deps),
      logServices(deps),
      metricsServices(deps),
      metricsWatchServices(deps),
      executeServices(deps),
      notebookTokenServices(deps),
    ),
    results: resultServices(deps),
  }
}
