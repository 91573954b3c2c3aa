import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { webhookCommands } from './update.ts'
import { webhookServices } from './webhooks.ts'

export function createWebhookServices(deps: Deps) {
  return { webhooks: compose(webhookServices(deps), webhookCommands(deps)) }
}
