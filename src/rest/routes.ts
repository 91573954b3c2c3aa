import { routesOfAccounts } from './accounts/routes.ts'
import { routesOfBilling } from './billing/routes.ts'
import { eventRoutes } from './events/events.ts'
import { routesOfInstances } from './instances/routes.ts'
import { machineRoutes } from './machines/hosted.ts'
import { offerRoutes } from './offers/offers.ts'
import { interfaceRoutes } from './openapi/routes.ts'
import type { Route } from './route.ts'
import { routesOfTemplates } from './templates/routes.ts'
import { volumeRoutes } from './volumes/volumes.ts'

/** Every REST route, served and documented. Each noun lists its routes in its own folder. */
export const routes: Route[] = [
  ...offerRoutes,
  ...routesOfAccounts,
  ...routesOfBilling,
  ...eventRoutes,
  ...routesOfInstances,
  ...routesOfTemplates,
  ...volumeRoutes,
  ...machineRoutes,
  ...interfaceRoutes(() => routes),
]
