import type { Actor } from '../../domain/actor.ts'
import { type Change, isWaiting } from '../../domain/instances/instances.ts'
import type { Services } from '../../services/services.ts'
import { stateChangeQueued } from './answers.ts'

type Asked = { services: Services; actor: Actor }

/** Changes one instance. To start it is a success also where it waits for its GPUs, which is said. */
export async function setState({ services, actor }: Asked, id: bigint, change: Change) {
  const [step] = await services.instances.update(actor, [id], change)
  if (step?.outcome === 'failed') throw step.error
  const [instance] = await services.instances.byIds(actor, [id], 'instances.update')
  const queues = change.targetState === 'running' && instance && isWaiting(instance)
  return queues ? stateChangeQueued : { success: true as const }
}
