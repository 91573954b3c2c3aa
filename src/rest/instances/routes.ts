import type { Route } from '../route.ts'
import { instanceActionRoutes } from './actions.ts'
import { instanceRoutes } from './instances.ts'
import { launchRoutes } from './launch.ts'
import { instanceListRoutes } from './list.ts'
import { instancesNotOffered } from './not-offered.ts'
import { instanceRelaunchRoutes } from './relaunch.ts'
import { rentRoutes } from './rent.ts'
import { rentManyRoutes } from './rent-many.ts'
import { instanceRestartRoutes } from './restart.ts'
import { resultRoutes } from './results.ts'
import { instanceSshKeyRoutes } from './ssh-keys.ts'

export const routesOfInstances: Route[] = [
  ...rentRoutes,
  ...launchRoutes,
  ...rentManyRoutes,
  ...instanceRoutes,
  ...instanceListRoutes,
  ...instanceActionRoutes,
  ...instanceRestartRoutes,
  ...instanceRelaunchRoutes,
  ...instancesNotOffered,
  ...instanceSshKeyRoutes,
  ...resultRoutes,
]
