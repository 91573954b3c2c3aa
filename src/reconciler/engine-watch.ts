// Follows the engines of all machines. Every gateway follows every engine: what two of them do at once changes nothing twice.

import { setTimeout as sleep } from 'node:timers/promises'
import type { engineServices } from '../services/machines/engines/engines.ts'
import { createFollower, type FollowDeps } from './engine-follow.ts'

type EngineWatchDeps = FollowDeps & { engines: Pick<ReturnType<typeof engineServices>, 'all'>; findMs?: number }

export type EngineWatch = { start(): void; stop(): Promise<void> }

/** Looks for machines that were connected or disconnected every `findMs`. */
export function createEngineWatch({ engines, findMs = 2_000, ...deps }: EngineWatchDeps): EngineWatch {
  const follow = createFollower(deps)
  const stopping = new AbortController()
  const followed = new Map<number, { leave: AbortController; done: Promise<void> }>()
  let finding: Promise<void> | undefined

  async function find(): Promise<void> {
    while (!stopping.signal.aborted) {
      const connected = await engines.all().catch(() => undefined)
      if (connected) update(connected)
      await sleep(findMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  function update(connected: ReadonlyMap<number, unknown>): void {
    for (const machineId of connected.keys()) if (!followed.has(machineId)) begin(machineId)
    for (const [machineId, { leave }] of followed) if (!connected.has(machineId)) leave.abort()
  }

  function begin(machineId: number): void {
    const leave = new AbortController()
    const signal = AbortSignal.any([leave.signal, stopping.signal])
    const done = follow(machineId, signal).finally(() => followed.delete(machineId))
    followed.set(machineId, { leave, done })
  }

  return {
    start() {
      finding ??= find()
    },
    async stop() {
      stopping.abort()
      await finding
      await Promise.all([...followed.values()].map(({ done }) => done))
    },
  }
}
