// Stores simulated containers in a table that all gateways share, so that a restart loses nothing.

import DataLoader from 'dataloader'
import type { Container, MadeFrom } from './container.ts'
import type { LogEntry } from './log.ts'
import { scriptOf } from './script.ts'

/** A container as read. `revision` detects later changes. `isMachineOut` is whether its machine does not answer. */
export type StoredContainer = { container: Container; revision: string; isMachineOut: boolean }

export type NewContainer = { instanceId: bigint; container: Container }

export type SimulatedWorld = {
  find(instanceId: bigint): Promise<StoredContainer | undefined>
  /** Adds a container, unless the instance has one. */
  add(added: NewContainer): Promise<void>
  /** False if the container has changed since it was read. */
  replace(replaced: NewContainer & { revision: string }): Promise<boolean>
  remove(instanceId: bigint): Promise<void>
  /** Whether a machine does not answer. */
  isMachineOut(machineId: number): Promise<boolean>
  /** The instances that have a container on a machine. */
  idsOnMachine(machineId: number): Promise<bigint[]>
}

/** Runs a statement, and returns rows as arrays. Each value has the type of the column that the statement names. */
export type RunStatement = (text: string, values: unknown[]) => Promise<unknown[][]>

const columns = 'machine_id, prepared_at, up_at, down_at, exit_code, ends_at, ssh_keys, script, log'
const newColumns = columns.replaceAll(/\w+/g, 'new.$&')
const maxBatchSize = 100

/** Calls of the same turn of the event loop share one statement. */
export function createSimulatedWorld(query: RunStatement): SimulatedWorld {
  const batched = <Key, Value>(work: (keys: readonly Key[]) => Promise<Value[]>): ((key: Key) => Promise<Value>) => {
    const loader = new DataLoader<Key, Value>(work, { cache: false, maxBatchSize })
    return key => loader.load(key)
  }
  return {
    find: batched(async ids => {
      const out = 'EXISTS (SELECT FROM simulated_outages o WHERE o.machine_id = c.machine_id)'
      const text = `SELECT instance_id::text, xmin::text, ${out}, ${columns} FROM simulated_containers c
        WHERE instance_id = ANY($1::bigint[])`
      const found = new Map((await query(text, [ids.map(String)])).map(([id, ...row]) => [id, storedOf(row)]))
      return ids.map(id => found.get(String(id)))
    }),
    add: batched(async (added: readonly NewContainer[]) => {
      await query(
        `INSERT INTO simulated_containers (instance_id, ${columns})
        SELECT instance_id, ${columns} FROM json_populate_recordset(NULL::simulated_containers, $1)
        ON CONFLICT (instance_id) DO NOTHING`,
        [JSON.stringify(added.map(rowOf))],
      )
      return added.map(() => undefined)
    }),
    replace: batched(async (asked: readonly (NewContainer & { revision: string })[]) => {
      // One of several changes of a container. The others read it again.
      const replaced = [...new Map(asked.map(one => [one.instanceId, one])).values()]
      const rows = await query(
        `UPDATE simulated_containers c SET (${columns}) = ROW(${newColumns})
        FROM json_populate_recordset(NULL::simulated_containers, $1) AS new
        JOIN unnest($2::bigint[], $3::text[]) AS read (id, revision) ON read.id = new.instance_id
        WHERE c.instance_id = new.instance_id AND c.xmin = read.revision::xid RETURNING c.instance_id::text`,
        [
          JSON.stringify(replaced.map(rowOf)),
          replaced.map(({ instanceId }) => String(instanceId)),
          replaced.map(({ revision }) => revision),
        ],
      )
      const changed = new Set(rows.map(([id]) => id))
      return asked.map(one => replaced.includes(one) && changed.has(String(one.instanceId)))
    }),
    remove: batched(async ids => {
      await query('DELETE FROM simulated_containers WHERE instance_id = ANY($1::bigint[])', [ids.map(String)])
      return ids.map(() => undefined)
    }),
    isMachineOut: batched(async machineIds => {
      const rows = await query('SELECT machine_id FROM simulated_outages WHERE machine_id = ANY($1)', [machineIds])
      const out = new Set(rows.map(([id]) => id))
      return machineIds.map(id => out.has(id))
    }),
    async idsOnMachine(machineId) {
      const text = 'SELECT instance_id::text FROM simulated_containers WHERE machine_id = $1'
      return (await query(text, [machineId])).map(([id]) => BigInt(id as string))
    },
  }
}

function storedOf([revision, isMachineOut, ...row]: unknown[]): StoredContainer {
  return { revision: revision as string, isMachineOut: isMachineOut as boolean, container: containerOf(row) }
}

/** `row` has the values of `columns`. Its two JSON columns are as `rowOf` wrote them. */
function containerOf(row: unknown[]): Container {
  const [machineId, preparedAt, upAt, downAt, exitCode, endsAt, sshKeys, made, log] = row as [
    ...[number, Date, Date | null, Date | null, number | null, Date | null, string[], Partial<MadeFrom>, LogEntry[]],
  ]
  return { machineId, preparedAt, upAt, downAt, exitCode, endsAt, sshKeys, made: { ...unknownMadeFrom, ...made }, log }
}

/** A row of the table, as JSON. */
function rowOf({ instanceId, container }: NewContainer): Record<string, unknown> {
  const { machineId, preparedAt, upAt, downAt, exitCode, endsAt, sshKeys, made, log } = container
  const times = { prepared_at: preparedAt, up_at: upAt, down_at: downAt, ends_at: endsAt }
  const facts = { machine_id: machineId, exit_code: exitCode, ssh_keys: sshKeys, script: made, log }
  return { instance_id: String(instanceId), ...times, ...facts }
}

/** For containers that were stored when these facts were not stored yet. */
const unknownMadeFrom: MadeFrom = {
  ...{ script: scriptOf(''), image: '', mode: 'sshProxy', args: [], hostname: '', gpus: [], diskMb: 0 },
  ...{ env: [], onStart: null, share: null },
}
