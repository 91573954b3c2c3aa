import type { Route } from '../route.ts'
import { instanceActionRoutes } from './actions.ts'
import { rentBestOfferRoutes } from './best-offer.ts'
import { instanceChangeLaunchRoutes } from './change-launch.ts'
import { instanceReadRoutes } from './instances.ts'
import { instanceListRoutes } from './list.ts'
import { notImplementedInstanceRoutes } from './not-implemented.ts'
import { rentRoutes } from './rent.ts'
import { rentManyRoutes } from './rent-many.ts'
import { instanceRestartRoutes } from './restart.ts'
import { resultRoutes } from './results.ts'
import { instanceSshKeyRoutes } from './ssh-keys.ts'

export const instanceRoutes: Route[] = [
  ...rentRoutes,
  ...rentBestOfferRoutes,
  ...rentManyRoutes,
  ...instanceReadRoutes,
  ...instanceListRoutes,
  ...instanceActionRoutes,
  ...instanceRestartRoutes,
  ...instanceChangeLaunchRoutes,
  ...notImplementedInstanceRoutes,
  ...instanceSshKeyRoutes,
  ...resultRoutes,
]
