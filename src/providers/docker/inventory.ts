import type { Inventory } from '../provider.ts'
import { listContainers } from './container.ts'
import { EngineError } from './engine/error.ts'
import type { Machine } from './machine.ts'
import { idsIn, labelFilter, labels, volumeName } from './names.ts'

type Volume = { Labels: Record<string, string> | null }

export async function readInventory(machine: Machine, signal: AbortSignal): Promise<Inventory> {
  const { client, engine } = machine
  const query = { filters: labelFilter(engine) }
  const containers = await listContainers(machine, {}, signal)
  const { Volumes } = await client.call<{ Volumes: Volume[] | null }>('GET', '/volumes', { query, signal })
  const instanceIds = [...new Set(idsIn(labels.instance, containers))]
  return { instanceIds, volumeIds: idsIn(labels.volume, Volumes ?? []) }
}

/** A volume that is in use, or that does not exist, stays as it is. */
export async function removeVolume({ client, engine }: Machine, volumeId: bigint, signal: AbortSignal): Promise<void> {
  await client.call('DELETE', `/volumes/${volumeName(engine, volumeId)}`, { signal }).catch((error: unknown) => {
    if (!(error instanceof EngineError && (error.status === 404 || error.status === 409))) throw error
  })
}
