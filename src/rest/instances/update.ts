import type { Actor } from '../../domain/actor.ts'
import { type InstanceChange, isWaitingForGpus } from '../../domain/instances/instances.ts'
import type { Services } from '../../services/services.ts'
import { stateChangeQueued } from './responses.ts'

type Caller = { services: Services; actor: Actor }

/** Changes one instance. A start that waits for GPUs succeeds too, and its answer says so. */
export async function updateInstance({ services, actor }: Caller, id: bigint, change: InstanceChange) {
  const [step] = await services.instances.update(actor, [id], change)
  if (step?.outcome === 'failed') throw step.error
  const [instance] = await services.instances.byIds(actor, [id], 'instances.update')
  const queues = change.targetState === 'running' && instance && isWaitingForGpus(instance)
  return queues ? stateChangeQueued : { success: true as const }
}
