// Follows the engine of a machine: makes passes due when containers change by themselves, and removes what should be gone.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Provider } from '../providers/provider.ts'
import type { engineChangeServices, Leftovers } from '../services/machines/engines/changes.ts'
import { gather } from './gather.ts'

export type FollowDeps = {
  changes: ReturnType<typeof engineChangeServices>
  provider: Pick<Provider, 'watch' | 'inventory' | 'remove' | 'removeVolume'>
  log: Logger
  timing?: Partial<typeof defaultTiming>
}

const defaultTiming = {
  /** How often to compare lists, since an engine forgets changes when it ends. */
  compareMs: 30_000,
  /** Time before an engine that was lost is asked again: between this and twice this. */
  retryMs: 1_000,
}
const callMs = 10_000

/** Called when the engine has answered. */
type OnAnswer = () => Promise<void>

/** The function that it returns follows a machine until its signal is aborted. */
export function createFollower({ changes, provider, log, timing }: FollowDeps) {
  const { compareMs, retryMs } = { ...defaultTiming, ...timing }

  return async (machineId: number, signal: AbortSignal): Promise<void> => {
    let isLost = false
    const onAnswer = async () => {
      if (!isLost) return
      log.info({ machineId }, 'The engine of a machine answers again.')
      isLost = false
      await changes.noteReturn(machineId)
    }
    while (!signal.aborted) {
      try {
        await followOnce(machineId, signal, onAnswer)
      } catch (error) {
        // Logged once, not every second while the engine is down.
        if (!isLost && !signal.aborted)
          log.warn({ err: error, machineId }, 'The engine of a machine does not answer. The gateway keeps trying.')
        isLost = true
        await sleep(retryMs * (1 + Math.random()), undefined, { signal }).catch(() => {})
      }
    }
  }

  /** Watches before it compares, so that no change falls between. */
  async function followOnce(machineId: number, signal: AbortSignal, onAnswer: OnAnswer): Promise<void> {
    const lost = new AbortController()
    const until = AbortSignal.any([signal, lost.signal, AbortSignal.timeout(compareMs)])
    const gathered = gather(ids => changes.noteChanges(machineId, ids), log)
    const watching = provider.watch(machineId, gathered.add, until)
    const comparing = compare(machineId, until, onAnswer).catch((error: unknown) => {
      // The next comparison does the rest.
      if (!until.aborted) throw error
    })
    try {
      await Promise.race([watching, comparing])
      await watching
    } finally {
      lost.abort()
      await watching.catch(() => {})
      await gathered.flush()
    }
  }

  async function compare(machineId: number, until: AbortSignal, onAnswer: OnAnswer): Promise<void> {
    const limit = () => AbortSignal.any([until, AbortSignal.timeout(callMs)])
    // Read before the inventory: a volume that is deleted later may have got its data after the inventory was made.
    const deleted = await changes.deletedVolumes(machineId)
    const inventory = await provider.inventory(machineId, limit())
    await onAnswer()
    const leftovers = await changes.compare(machineId, inventory)
    logLeftovers(machineId, leftovers.containers)
    for (const container of leftovers.containers) await provider.remove(container, limit())
    for (const volumeId of leftovers.volumeIds) await provider.removeVolume(machineId, volumeId, limit())
    if (deleted.length === 0) return
    const left = new Set((await provider.inventory(machineId, limit())).volumeIds)
    await changes.noteRemovedVolumes(deleted.filter(id => !left.has(id)))
  }

  /** In one line: a host may claim to have the containers of all instances that ever were. */
  function logLeftovers(machineId: number, containers: Leftovers['containers']): void {
    if (containers.length === 0) return
    const instanceIds = containers.slice(0, 10).map(({ instanceId }) => String(instanceId))
    const logFields = { machineId, count: containers.length, instanceIds }
    log.info(logFields, 'A machine has containers of instances that are gone. They are removed.')
  }
}
