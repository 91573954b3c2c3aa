import { isAllowed } from '../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../domain/actor.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import type { Services } from '../../services/services.ts'
import { mapInTurns } from '../in-turns.ts'
import { instanceRow } from './present.ts'
import type { InstanceRow } from './row.ts'

type Caller = { services: Services; actor: Actor }

/** The rows of instances, with what they use now. Of those whose metrics the key may not read, that is unknown. */
export async function measuredRows({ services, actor }: Caller, instances: Instance[]): Promise<InstanceRow[]> {
  const readable = instances.filter(({ id }) => isAllowed(actor.permissions, 'instances.metrics', { id: Number(id) }))
  const metrics = readable.length === 0 ? undefined : await services.instances.currentMetrics(actor, readable)
  return await mapInTurns(instances, instance => instanceRow(instance, metrics?.get(instance.id)))
}
