import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { webhookChangeServices } from './change.ts'
import { webhookUpdateServices } from './update.ts'
import { webhookReadServices } from './webhooks.ts'

export function createWebhookServices(deps: Deps) {
  return { webhooks: compose(webhookReadServices(deps), webhookUpdateServices(deps), webhookChangeServices(deps)) }
}
