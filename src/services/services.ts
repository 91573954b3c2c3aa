// The services that the faces call. Each noun composes its services in its own folder.

import { createAccountServices } from './accounts/services.ts'
import { createBillingServices } from './billing/services.ts'
import { compose } from './compose.ts'
import type { Deps } from './deps.ts'
import { createEventServices } from './events/services.ts'
import { createInstanceServices } from './instances/services.ts'
import { createMachineServices } from './machines/services.ts'
import { createOfferServices } from './offers/services.ts'
import { createTemplateServices } from './templates/services.ts'
import { createVolumeServices } from './volumes/services.ts'
import { createWebhookServices } from './webhooks/services.ts'

export type Services = ReturnType<typeof createServices>

export function createServices(deps: Deps) {
  return compose(
    createAccountServices(deps),
    createBillingServices(deps),
    createEventServices(deps),
    createInstanceServices(deps),
    createMachineServices(deps),
    createOfferServices(deps),
    createTemplateServices(deps),
    createVolumeServices(deps),
    createWebhookServices(deps),
  )
}
