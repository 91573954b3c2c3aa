// Which gateway has the connection of which host: a row says so until an instant, and the gateway renews it.

import { Prisma } from '../../../database/generated/client.ts'
import { enumeration, int4, int8, type RowOf, text, textArray } from '../../../database/row-types.ts'
import { transaction } from '../../../database/transaction.ts'
import type { GpuAccess } from '../../../domain/machines/engines.ts'
import type { GatewayDeps } from '../../deps.ts'
import { makeInstancesDue } from '../../reconciliation/due.ts'
import { lockInstances } from '../../reconciliation/leases.ts'
import { hashOf } from './secrets.ts'
import { holdMs, isHeldNowSql, noGateway } from './sql.ts'

const { sql } = Prisma

/** The connection of a host. A later one has a greater generation. */
export type Hold = { machineId: number; generation: number }

/** A host that tells more must not use up the generations of its row. No honest host comes near. */
const greatestTold = 2_000_000_000

type ClaimingHost = { key: string; version: string; generation: number }

const holdRow = { machineId: int4, generation: int4 }
const engineRow = { mark: text, gpuAccess: enumeration<GpuAccess>(), gpuUuids: textArray }

export function holdServices({ database, gatewayId = noGateway }: GatewayDeps) {
  const heldUntilSql = () => sql`${database.nowSql} + ${holdMs} * interval '1 millisecond'`
  const heldElsewhereSql = () =>
    sql`a.gateway_id <> ${gatewayId}::uuid AND ${isHeldNowSql(database.nowSql, sql`a.held_until`)}`

  /** What its containers did while no gateway could see them was not told. */
  async function makeAllDue(machineId: number): Promise<void> {
    const statement = sql`SELECT id FROM instances WHERE machine_id = ${machineId} AND removed_at IS NULL`
    const ids = (await database.query(statement, { id: int8 })).map(({ id }) => id)
    if (ids.length === 0) return
    await transaction(database, async tx => {
      await lockInstances(tx, ids)
      await makeInstancesDue(tx, ids, tx.at)
    })
  }

  return {
    /** The machine of a host's key; undefined if the key is not valid, or no longer. */
    async identify(key: string): Promise<number | undefined> {
      const [row] = await database.query(sql`SELECT machine_id FROM agents WHERE key_hash = ${hashOf(key)}`, {
        machineId: int4,
      })
      return row?.machineId
    },

    /**
     * Takes the connection of a host from any gateway that has it. Undefined if the key is not valid anymore. `told` is the
     * greatest generation that the host has seen: the database has a smaller one after it was restored from a backup.
     */
    async claim({
      key,
      version,
      generation: told,
    }: ClaimingHost): Promise<(Hold & RowOf<typeof engineRow>) | undefined> {
      const [held] = await database.query(
        sql`UPDATE agents a SET gateway_id = ${gatewayId}::uuid, held_until = ${heldUntilSql()},
            generation = greatest(generation, ${Math.min(told, greatestTold)}::int) + 1, version = ${version} FROM engines e
          WHERE a.key_hash = ${hashOf(key)} AND e.machine_id = a.machine_id
          RETURNING a.machine_id, a.generation, e.mark, e.gpu_access, e.gpu_uuids`,
        { ...holdRow, ...engineRow },
      )
      if (held) await makeAllDue(held.machineId)
      return held
    },

    /** Renews those that this gateway still holds, and returns them. */
    async renew(holds: readonly Hold[]): Promise<Hold[]> {
      if (holds.length === 0) return []
      return await database.query(
        sql`UPDATE agents a SET held_until = ${heldUntilSql()}
          FROM ${unnestSql(holds)}
          WHERE a.machine_id = hold.machine_id AND a.generation = hold.generation AND a.gateway_id = ${gatewayId}::uuid
          RETURNING a.machine_id, a.generation`,
        holdRow,
      )
    },

    /** Lets other gateways know at once that they need not wait for this one. */
    async release(holds: readonly Hold[]): Promise<void> {
      if (holds.length === 0) return
      await database.execute(
        sql`UPDATE agents a SET gateway_id = NULL, held_until = NULL, released_at = ${database.nowSql}
          FROM ${unnestSql(holds)}
          WHERE a.machine_id = hold.machine_id AND a.generation = hold.generation AND a.gateway_id = ${gatewayId}::uuid`,
      )
    },

    /** The connection of the host with this key, if another gateway has it. */
    async findElsewhere(key: string): Promise<Hold | undefined> {
      const [hold] = await database.query(
        sql`SELECT a.machine_id, a.generation FROM agents a WHERE a.key_hash = ${hashOf(key)} AND ${heldElsewhereSql()}`,
        holdRow,
      )
      return hold
    },

    /** Those of these connections that other gateways still have. */
    async confirmElsewhere(holds: readonly Hold[]): Promise<Hold[]> {
      if (holds.length === 0) return []
      return await database.query(
        sql`SELECT a.machine_id, a.generation FROM ${unnestSql(holds)}
          JOIN agents a ON a.machine_id = hold.machine_id AND a.generation = hold.generation WHERE ${heldElsewhereSql()}`,
        holdRow,
      )
    },
  }
}

function unnestSql(holds: readonly Hold[]): Prisma.Sql {
  const [machineIds, generations] = [holds.map(({ machineId }) => machineId), holds.map(({ generation }) => generation)]
  return sql`unnest(${machineIds}::int[], ${generations}::int[]) AS hold (machine_id, generation)`
}
