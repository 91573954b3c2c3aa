import type { ContainerRef } from '../../domain/instances/containers.ts'
import { listContainers } from './container.ts'
import { EngineError } from './engine/error.ts'
import type { Machine } from './machine.ts'
import { labelsOf } from './names.ts'
import type { Networks } from './networks.ts'

/** Removes all that was made for an instance, but its named volumes. */
export async function removeContainers(
  networks: Networks,
  machine: Machine,
  ref: ContainerRef,
  signal: AbortSignal,
): Promise<void> {
  const listed = await listContainers(machine, labelsOf(ref), signal)
  const query = { force: 1, v: 1 }
  for (const { Id } of listed) {
    await machine.client.call('DELETE', `/containers/${Id}`, { query, signal, deadlineMs: 60_000 }).catch(ignoreRemoved)
  }
  await networks.removeUnused(machine, signal)
}

/** It is gone, or being removed. */
function ignoreRemoved(error: unknown): void {
  const isGone = error instanceof EngineError && (error.status === 404 || error.status === 409)
  if (!isGone) throw error
}
