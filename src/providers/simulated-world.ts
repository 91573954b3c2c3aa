// Stores simulated containers in a table that all gateways share, so that a restart loses nothing.

import type { Container, MadeFrom } from './simulated-container.ts'
import type { LogEntry } from './simulated-log.ts'
import { scriptOf } from './simulated-script.ts'

/** A container as read. `revision` detects later changes. `isMachineOut` is whether its machine does not answer. */
export type StoredContainer = { container: Container; revision: string; isMachineOut: boolean }

export type SimulatedWorld = {
  find(instanceId: bigint): Promise<StoredContainer | undefined>
  /** Adds a container, unless the instance has one. */
  add(instanceId: bigint, container: Container): Promise<void>
  /** False if the container has changed since it was read. */
  replace(instanceId: bigint, container: Container, revision: string): Promise<boolean>
  remove(instanceId: bigint): Promise<void>
  /** Whether a machine does not answer. */
  isMachineOut(machineId: number): Promise<boolean>
}

/** Runs a statement, and returns rows as arrays. Each value has the type of the column that the statement names. */
export type RunStatement = (text: string, values: unknown[]) => Promise<unknown[][]>

const columns = 'machine_id, prepared_at, up_at, down_at, exit_code, ends_at, ssh_keys, script, log'

export function createSimulatedWorld(query: RunStatement): SimulatedWorld {
  return {
    async find(instanceId) {
      const out = 'EXISTS (SELECT FROM simulated_outages o WHERE o.machine_id = c.machine_id)'
      const text = `SELECT xmin::text, ${out}, ${columns} FROM simulated_containers c WHERE instance_id = $1`
      const [row] = await query(text, [String(instanceId)])
      return (
        row && { revision: row[0] as string, isMachineOut: row[1] as boolean, container: containerOf(row.slice(2)) }
      )
    },
    async add(instanceId, container) {
      await query(
        `INSERT INTO simulated_containers (instance_id, ${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (instance_id) DO NOTHING`,
        [String(instanceId), ...valuesOf(container)],
      )
    },
    async replace(instanceId, container, revision) {
      const rows = await query(
        `UPDATE simulated_containers SET (${columns}) = ROW($3, $4, $5, $6, $7, $8, $9, $10, $11)
        WHERE instance_id = $1 AND xmin = $2::xid RETURNING 1`,
        [String(instanceId), revision, ...valuesOf(container)],
      )
      return rows.length > 0
    },
    async remove(instanceId) {
      await query('DELETE FROM simulated_containers WHERE instance_id = $1', [String(instanceId)])
    },
    async isMachineOut(machineId) {
      return (await query('SELECT 1 FROM simulated_outages WHERE machine_id = $1', [machineId])).length > 0
    },
  }
}

/** `row` has the values of `columns`. Its two JSON columns are as `valuesOf` wrote them. */
function containerOf(row: unknown[]): Container {
  const [machineId, preparedAt, upAt, downAt, exitCode, endsAt, sshKeys, made, log] = row as [
    ...[number, Date, Date | null, Date | null, number | null, Date | null, string[], Partial<MadeFrom>, LogEntry[]],
  ]
  return { machineId, preparedAt, upAt, downAt, exitCode, endsAt, sshKeys, made: { ...unknownMadeFrom, ...made }, log }
}

function valuesOf({ machineId, preparedAt, upAt, downAt, exitCode, endsAt, sshKeys, made, log }: Container): unknown[] {
  return [machineId, preparedAt, upAt, downAt, exitCode, endsAt, sshKeys, JSON.stringify(made), JSON.stringify(log)]
}

/** For containers that were stored when these facts were not stored yet. */
const unknownMadeFrom: MadeFrom = {
  ...{ script: scriptOf(''), image: '', mode: 'sshProxy', args: [], hostname: '', gpus: [], diskMb: 0 },
  ...{ env: [], onStart: null },
}
