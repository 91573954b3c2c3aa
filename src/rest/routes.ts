import { accountRoutes } from './accounts/routes.ts'
import { billingRoutes } from './billing/routes.ts'
import { eventRoutes } from './events/events.ts'
import { instanceRoutes } from './instances/routes.ts'
import { machineRoutes } from './machines/hosted.ts'
import { offerRoutes } from './offers/offers.ts'
import { interfaceRoutes } from './openapi/routes.ts'
import type { Route } from './route.ts'
import { templateRoutes } from './templates/routes.ts'
import { volumeRoutes } from './volumes/volumes.ts'

/** Every REST route, served and documented. Each noun lists its routes in its own folder. */
export const routes: Route[] = [
  ...offerRoutes,
  ...accountRoutes,
  ...billingRoutes,
  ...eventRoutes,
  ...instanceRoutes,
  ...templateRoutes,
  ...volumeRoutes,
  ...machineRoutes,
  ...interfaceRoutes(() => routes),
]
