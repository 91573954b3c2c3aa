// Containers that do not exist: rows that say when each will be ready or stopped, so that any gateway can read at any
// time how far they are. Nothing runs in the background, and a restart loses nothing.

import { createHash } from 'node:crypto'
import type { Truth } from '../domain/containers.ts'
import type { Provider } from './provider.ts'

/** Runs a statement on the world's table, and reads its rows as arrays. */
export type World = (text: string, values: unknown[]) => Promise<unknown[][]>
type SimulatedOptions = {
  world: World
  now: () => Date
  /** 1 is as slow as a real machine; 0 does not wait. */
  delayFactor: number
}

const delaysMs = { pullLeast: 4_000, pullMost: 25_000, start: 3_000, stop: 2_000 }

export function createSimulated({ world, now, delayFactor }: SimulatedOptions): Provider {
  const later = (ms: number) => new Date(now().getTime() + ms * delayFactor)

  return {
    async observe(instanceId) {
      const [row] = await world(
        'SELECT prepared_at, up_at, down_at, exit_code, ssh_keys FROM simulated_containers WHERE instance_id = $1',
        [String(instanceId)],
      )
      if (!row) return { state: 'absent' }
      const [preparedAt, upAt, downAt, exitCode, sshKeys] = row as [
        ...[Date, Date | null, Date | null],
        number | null,
        string[],
      ]
      return stateOf({ preparedAt, upAt, downAt, exitCode, sshKeys }, now())
    },
    async ensure({ instanceId, launch, sshKeys }) {
      await world(
        `INSERT INTO simulated_containers (instance_id, prepared_at, ssh_keys) VALUES ($1, $2, $3)
        ON CONFLICT (instance_id) DO NOTHING`,
        [String(instanceId), later(pullMs(launch.image)), sshKeys],
      )
    },
    async authorise({ instanceId, sshKeys }) {
      await world('UPDATE simulated_containers SET ssh_keys = $2 WHERE instance_id = $1', [String(instanceId), sshKeys])
    },
    async start(instanceId) {
      await world(
        `UPDATE simulated_containers SET up_at = $2, down_at = NULL, exit_code = NULL
        WHERE instance_id = $1 AND prepared_at <= $3 AND (up_at IS NULL OR down_at <= $3 OR exit_code IS NOT NULL)`,
        [String(instanceId), later(delaysMs.start), now()],
      )
    },
    async stop(instanceId) {
      await world(
        'UPDATE simulated_containers SET down_at = $2 WHERE instance_id = $1 AND up_at IS NOT NULL AND down_at IS NULL AND exit_code IS NULL',
        [String(instanceId), later(delaysMs.stop)],
      )
    },
    async remove(instanceId) {
      await world('DELETE FROM simulated_containers WHERE instance_id = $1', [String(instanceId)])
    },
  }
}

type Container = {
  preparedAt: Date
  upAt: Date | null
  downAt: Date | null
  exitCode: number | null
  sshKeys: string[]
}

function stateOf({ preparedAt, upAt, downAt, exitCode, sshKeys }: Container, now: Date): Truth {
  if (exitCode !== null) return { state: 'exited', exitCode, sshKeys }
  if (downAt) return downAt <= now ? { state: 'stopped', sshKeys } : { state: 'stopping', until: downAt }
  if (upAt) return upAt <= now ? { state: 'running', sshKeys } : { state: 'starting', until: upAt }
  return preparedAt <= now ? { state: 'prepared', sshKeys } : { state: 'preparing', until: preparedAt }
}

/** An image takes as long to pull each time, and one longer than another. */
function pullMs(image: string): number {
  const share = createHash('sha256').update(image).digest().readUInt16BE() / 0xffff
  return delaysMs.pullLeast + share * (delaysMs.pullMost - delaysMs.pullLeast)
}
