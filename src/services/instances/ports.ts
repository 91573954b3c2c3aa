import { randomInt } from 'node:crypto'
import { Prisma } from '../../database/generated/client.ts'
import { int4, json, textOf } from '../../database/row-types.ts'
import { insertSql, modelColumnsOf } from '../../database/rows.ts'
import { readOf, writeTogether } from '../../database/together.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { PortBinding } from '../../domain/instances/instances.ts'
import { choosePorts, missingPorts } from '../../domain/instances/ports.ts'
import type { Port } from '../../domain/launch/env.ts'
import type { LaunchMode } from '../../domain/launch/launch.ts'
import type { Machine } from '../../domain/machines/machines.ts'
import type { Deps } from '../deps.ts'
import { lockMachine } from '../machines/lock.ts'
import { changeFreeCapacity } from '../machines/market.ts'

const { sql } = Prisma
const bindingColumns = modelColumnsOf(Prisma.PortBindingScalarFieldEnum)

/** Binds public ports of a machine to an instance. The machine must be locked and have enough free ports. */
async function bindPorts(tx: Transaction, machine: Machine, instanceId: bigint, ports: Port[]): Promise<void> {
  const { statement, shape } = boundPortsRead([machine.id])
  const bound = await tx.query(statement, shape)
  await writeTogether(tx, portWrites([{ machine, instanceId, ports, bound }]))
}

/** The public ports of machines that are bound. */
export function boundPortsRead(machineIds: readonly number[]) {
  const statement = sql`SELECT machine_id, host_port FROM port_bindings WHERE machine_id = ANY(${machineIds}::int[])`
  return readOf(statement, { machineId: int4, hostPort: int4 })
}

/** Ports to bind on a locked machine, and those that are bound there. No two instances are on one machine. */
type NewBindings = { machine: Machine; instanceId: bigint; ports: Port[]; bound: readonly { hostPort: number }[] }

/** Binds free ports of locked machines, for `writeTogether`. */
export function portWrites(all: readonly NewBindings[]): Record<string, Prisma.Sql> {
  const rows = all.flatMap(({ machine, instanceId, ports, bound }) =>
    choosePorts(machine, new Set(bound.map(({ hostPort }) => hostPort)), ports).map(binding => {
      return { ...binding, machineId: machine.id, instanceId }
    }),
  )
  return rows.length > 0 ? { boundPorts: sql`${insertSql('port_bindings', bindingColumns, rows)} RETURNING 1` } : {}
}

/**
 * The ports that an instance lacks for login. The instance's machine is locked, because machines are locked before
 * instances.
 */
type MissingPorts = { machine: Machine; ports: Port[] }

/**
 * Finds the public ports that an instance lacks for login, and if there are any, locks the instance's machine. An
 * instance lacks such ports if it was rented while there was an SSH proxy, or before Berth bound them. Returns
 * undefined if no port is missing, or if the machine has too few free ports.
 */
export async function lockMissingPorts(
  tx: Transaction,
  { sshProxy }: Pick<Deps, 'sshProxy'>,
  accountId: number,
  instanceId: bigint,
): Promise<MissingPorts | undefined> {
  const missing = async () => {
    const [row] = await tx.query(
      sql`
        SELECT machine_id, launch->>'mode' AS mode, (
          SELECT coalesce(
            json_agg(json_build_object('hostPort', host_port, 'containerPort', container_port, 'protocol', protocol)), '[]')
          FROM port_bindings b WHERE b.instance_id = i.id
        ) AS ports FROM instances i WHERE id = ${instanceId} AND account_id = ${accountId} AND destroyed_at IS NULL`,
      { machineId: int4, mode: textOf<LaunchMode>(), ports: json<PortBinding[]>() },
    )
    if (!row) return undefined
    const { machineId, ...bound } = row
    const lacking = missingPorts(bound, sshProxy !== null)
    return lacking.length > 0 ? { machineId, ports: lacking } : undefined
  }
  const seen = await missing()
  const machine = seen && (await lockMachine(tx, seen.machineId))
  // Another request may have bound the ports before the machine was locked.
  const found = machine && (await missing())
  return found && found.ports.length <= machine.freePorts ? { machine, ports: found.ports } : undefined
}

/** Binds the missing ports. They take effect when the container is made anew. */
export async function bindMissingPorts(
  tx: Transaction,
  { machine, ports }: MissingPorts,
  instanceId: bigint,
): Promise<void> {
  await changeFreeCapacity(tx, machine, { diskMb: 0, ports: -ports.length })
  await bindPorts(tx, machine, instanceId, ports)
}

/**
 * Binds as many other ports of the locked machine, if they are free, and none of those that are bound now. They are random: if some
 * ports of the machine cannot be used, the next ones may be just as bad.
 */
export async function changePorts(tx: Transaction, machine: Machine, instanceId: bigint): Promise<void> {
  const { statement, shape } = boundPortsRead([machine.id])
  const bound = await tx.query(statement, shape)
  const own = await tx.query(
    sql`SELECT container_port, protocol FROM port_bindings WHERE instance_id = ${instanceId} ORDER BY host_port`,
    { containerPort: int4, protocol: textOf<Port['protocol']>() },
  )
  if (own.length > machine.freePorts) return
  await tx.execute(sql`DELETE FROM port_bindings WHERE instance_id = ${instanceId}`)
  const ports = own.map(port => ({ ...port, hostPort: randomInt(machine.firstPort, machine.lastPort + 1) }))
  await writeTogether(tx, portWrites([{ machine, instanceId, ports, bound }]))
}
