import type { Deps } from '../../deps.ts'
import { holdServices } from './holds.ts'
import { invitedServices } from './invited.ts'
import { joinServices } from './join.ts'
import { requestServices } from './requests.ts'

export type AgentServices = ReturnType<typeof agentServices>

/** What gateways do with the agents of hosts. */
export function agentServices(deps: Pick<Deps, 'database' | 'secrets' | 'gatewayId'>) {
  return { ...invitedServices(deps), ...joinServices(deps), ...holdServices(deps), requests: requestServices(deps) }
}
