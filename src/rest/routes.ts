import { accountRoutes } from './accounts.ts'
import { offerRoutes } from './offers.ts'
import type { Route } from './route.ts'

/** Everything that this face serves. */
export const routes: Route[] = [...offerRoutes, ...accountRoutes]
