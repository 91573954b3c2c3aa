import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { webhookUpdateServices } from './update.ts'
import { webhookServices } from './webhooks.ts'

export function createWebhookServices(deps: Deps) {
  return { webhooks: compose(webhookServices(deps), webhookUpdateServices(deps)) }
}
