import { isAllowed } from '../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../domain/actor.ts'
import { accessOf } from '../../domain/instances/access.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import type { Services } from '../../services/services.ts'
import { mapInTurns } from '../../turns/in-turns.ts'
import { instanceRow } from './present.ts'
import type { InstanceRow } from './row.ts'

type Caller = { services: Services; actor: Actor }

/**
 * The rows of instances, with what they use now, and the tokens of their notebooks. What the key may not read is left
 * out.
 */
export async function measuredRows({ services, actor }: Caller, instances: Instance[]): Promise<InstanceRow[]> {
  const allowedFor = (operation: 'instances.metrics' | 'instances.execute', of: Instance[]) =>
    of.filter(({ id }) => isAllowed(actor.permissions, operation, { id: Number(id) }))
  const readable = allowedFor('instances.metrics', instances)
  const notebooks = allowedFor(
    'instances.execute',
    instances.filter(instance => accessOf(instance)?.notebookUrl),
  )
  const ids = notebooks.map(({ id }) => id)
  const [metrics, found] = await Promise.all([
    readable.length === 0 ? undefined : services.instances.currentMetrics(actor, readable),
    ids.length === 0 ? [] : services.instances.notebookTokens(actor, ids),
  ])
  const tokens = new Map(found.map(({ id, token }) => [id, token]))
  return await mapInTurns(instances, instance =>
    instanceRow(instance, { metrics: metrics?.get(instance.id), notebookToken: tokens.get(instance.id) }),
  )
}
