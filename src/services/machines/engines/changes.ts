// What gateways learn from the engines of machines.

import { Prisma } from '../../../database/generated/client.ts'
import { int4, int8 } from '../../../database/row-types.ts'
import { transaction } from '../../../database/transaction.ts'
import type { ContainerRef } from '../../../domain/instances/containers.ts'
import type { DataDeps } from '../../deps.ts'
import { makeInstancesDue } from '../../reconciliation/due.ts'
import { lockInstances } from '../../reconciliation/leases.ts'

const { sql, raw } = Prisma

/** An engine may claim to have any ids, in each list greater ones. A gateway skips no more than this for a machine. */
const maxSkippedIds = 100_000

/** Whether a volume `v` is deleted, and no container has it. */
const isRemovableSql = sql`v.deleted_at IS NOT NULL
  AND NOT EXISTS (SELECT FROM volume_attachments a WHERE a.volume_id = v.id AND a.released_at IS NULL)`

/** The ids of what a machine has. */
type Found = { instanceIds: bigint[]; volumeIds: bigint[] }
/** What a machine has and should not have. */
export type Leftovers = { containers: ContainerRef[]; volumeIds: bigint[] }

export function engineChangeServices({ database }: DataDeps) {
  const skippedIds = new Map<number, number>()

  /** The instances whose containers may be on the machine, if a condition holds for them. */
  async function onMachine(machineId: number, condition: Prisma.Sql): Promise<bigint[]> {
    const rows = await database.query(
      sql`SELECT id FROM instances WHERE machine_id = ${machineId} AND removed_at IS NULL AND ${condition}`,
      { id: int8 },
    )
    return rows.map(({ id }) => id)
  }

  /** Takes the numbers up to the greatest of the ids from the sequence of a table. It only ever grows, whoever else uses it. */
  async function skipIds(machineId: number, table: 'instances' | 'volumes', ids: readonly bigint[]): Promise<void> {
    const sequence = raw(`${table}_id_seq`)
    const skipped = skippedIds.get(machineId) ?? 0
    const taken = await database.execute(sql`
      SELECT nextval(${`${table}_id_seq`}::regclass) FROM ${sequence} s, unnest(${ids.map(String)}::bigint[]) id
      CROSS JOIN LATERAL generate_series(s.last_value + 1, id) WHERE id = (SELECT max(i) FROM unnest(${ids.map(String)}::bigint[]) i)
        AND id <= s.last_value + ${maxSkippedIds - skipped}`)
    skippedIds.set(machineId, skipped + taken)
  }

  /**
   * Ids that the database gave before it failed over, and then lost. It is no copy: a gateway was connected before and after. A
   * database that has lost more than an hour was restored from a backup, and an operator decides what becomes of what it lost.
   */
  async function findLostIds(table: 'instances' | 'volumes', ids: readonly bigint[]): Promise<bigint[]> {
    const [name, after, until] = [raw(table), raw(`${table}_after`), raw(`${table}_until`)]
    const rows = await database.query(
      sql`SELECT id FROM unnest(${ids.map(String)}::bigint[]) id WHERE NOT EXISTS (SELECT FROM ${name} WHERE ${name}.id = id.id)
        AND EXISTS (SELECT FROM failovers WHERE witnessed AND complete_until >= noticed_at - interval '1 hour'
          AND id > ${after} AND id <= ${until})`,
      { id: int8 },
    )
    return rows.map(({ id }) => id)
  }

  async function makeDue(ids: readonly bigint[]): Promise<void> {
    if (ids.length === 0) return
    await transaction(database, async tx => {
      await lockInstances(tx, ids)
      await makeInstancesDue(tx, ids, tx.at)
    })
  }

  return {
    /** Makes a pass due over instances whose containers have changed. */
    async noteChanges(machineId: number, ids: readonly bigint[]): Promise<void> {
      await makeDue(await onMachine(machineId, sql`id = ANY(${ids.map(String)}::bigint[])`))
    },

    /** Makes a pass due over all instances of a machine that answers again: nobody told what happened meanwhile. */
    async noteReturn(machineId: number): Promise<void> {
      await makeDue(await onMachine(machineId, sql`true`))
    },

    /**
     * Compares what a machine has with what it should have. Makes a pass due over each instance whose container is
     * missing. Returns what to remove: containers of instances that are gone, deleted volumes, and what was lost in a
     * fail-over. What else the database has never heard of stays, because the database may be a copy that was restored. Its ids
     * are not given again: a new instance would find the container of another renter.
     */
    async compare(machineId: number, { instanceIds, volumeIds }: Found): Promise<Leftovers> {
      await skipIds(machineId, 'instances', instanceIds)
      await skipIds(machineId, 'volumes', volumeIds)
      const isMissing = sql`status IN ('running', 'stopping') AND id <> ALL(${instanceIds.map(String)}::bigint[])`
      await makeDue(await onMachine(machineId, isMissing))
      const gone = await database.query(
        sql`SELECT id AS instance_id, account_id FROM instances WHERE id = ANY(${instanceIds.map(String)}::bigint[])
            AND (removed_at IS NOT NULL OR machine_id <> ${machineId})`,
        { instanceId: int8, accountId: int4 },
      )
      const deleted = await database.query(
        sql`SELECT id FROM volumes v WHERE id = ANY(${volumeIds.map(String)}::bigint[]) AND ${isRemovableSql}`,
        { id: int8 },
      )
      const lostInstances = await findLostIds('instances', instanceIds)
      const lostVolumes = await findLostIds('volumes', volumeIds)
      return {
        containers: [...gone, ...lostInstances.map(instanceId => ({ instanceId, accountId: undefined }))].map(one => ({
          machineId,
          ...one,
        })),
        volumeIds: [...deleted.map(({ id }) => id), ...lostVolumes],
      }
    },

    /** The deleted volumes whose data the machine may still have. */
    async deletedVolumes(machineId: number): Promise<bigint[]> {
      const deleted = sql`
        SELECT id FROM volumes v WHERE machine_id = ${machineId} AND ${isRemovableSql} AND removed_at IS NULL`
      return (await database.query(deleted, { id: int8 })).map(({ id }) => id)
    },

    /** Notes that the machine does not have the data of these deleted volumes anymore. */
    async noteRemovedVolumes(ids: readonly bigint[]): Promise<void> {
      await database.execute(sql`UPDATE volumes SET removed_at = ${database.nowSql}
        WHERE id = ANY(${ids.map(String)}::bigint[]) AND deleted_at IS NOT NULL AND removed_at IS NULL`)
    },
  }
}
