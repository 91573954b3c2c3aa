// Keeps what the instances on real machines use.

import { Prisma } from '../../../database/generated/client.ts'
import { int4, int8, text } from '../../../database/row-types.ts'
import { type ContainerStats, inMb, sampleMs } from '../../../domain/instances/metrics.ts'
import type { Deps } from '../../deps.ts'
import { isElsewhereSql } from '../../machines/agents/sql.ts'
import { noteIdle } from '../policy/idle.ts'
import { sampleTurns, slotSql } from './slots.ts'

const { sql } = Prisma

type SamplingDeps = Pick<Deps, 'database' | 'simulation' | 'gatewayId'>

export function samplingServices({ database, simulation, gatewayId }: SamplingDeps) {
  return {
    /**
     * Claims real machines that are due to be sampled and have running instances, the longest due first. No other gateway gets
     * them for the next 15 seconds. If this gateway dies meanwhile, one sample is missing.
     */
    async claimDue(limit: number): Promise<number[]> {
      const { nowSql } = database
      const rows = await database.query(
        sql`INSERT INTO samplings AS s (machine_id, due_at)
          SELECT machine_id, ${nowSql} + ${sampleMs} * interval '1 millisecond' FROM (
            SELECT e.machine_id FROM engines e LEFT JOIN samplings old ON old.machine_id = e.machine_id
            WHERE (old.due_at IS NULL OR old.due_at <= ${nowSql})
            AND NOT ${isElsewhereSql(gatewayId, nowSql, sql`e.machine_id`)} AND EXISTS (
              SELECT FROM instances i WHERE i.machine_id = e.machine_id AND i.destroyed_at IS NULL AND i.status = 'running')
            ORDER BY old.due_at NULLS FIRST, e.machine_id LIMIT ${limit}) due
          ORDER BY machine_id
          ON CONFLICT (machine_id) DO UPDATE SET due_at = excluded.due_at WHERE s.due_at <= ${nowSql}
          RETURNING machine_id`,
        { machineId: int4 },
      )
      return rows.map(({ machineId }) => machineId)
    },

    /** Keeps what a machine said of its containers, and which are idle, in one statement. What is no running instance there is left out. */
    async record(machineId: number, stats: readonly ContainerStats[]): Promise<void> {
      if (stats.length === 0) return
      const { nowSql } = database
      await noteIdle(
        { database },
        sql`INSERT INTO samples (instance_id, at, received_bytes, sent_bytes, cpu_cores, memory_mb, disk_mb, slot,
          gpu_utilization, gpu_memory_mb)
        SELECT i.id, ${nowSql}, s.received_bytes, s.sent_bytes, s.cpu_cores, s.memory_mb, s.disk_mb,
          ${slotSql(sampleTurns, nowSql)}, s.gpu_utilization, s.gpu_memory_mb
        FROM json_to_recordset(${JSON.stringify(stats.map(rowOf))}::json) AS s (id bigint, received_bytes bigint,
          sent_bytes bigint, cpu_cores real, memory_mb int, disk_mb int, gpu_utilization smallint[], gpu_memory_mb int[])
        JOIN instances i ON i.id = s.id AND i.machine_id = ${machineId} AND i.status = 'running'
        ON CONFLICT DO NOTHING RETURNING instance_id, at, gpu_utilization`,
      )
    },

    /**
     * Notes which instances are idle on simulated machines that answer, of those that are to stop then. Several gateways note
     * the same.
     */
    async noteSimulatedIdle(): Promise<void> {
      const { nowSql } = database
      const found = await database.query(
        sql`SELECT i.id, i.launch->>'image' AS image, i.num_gpus, i.disk_mb FROM instances i
          WHERE i.idle_seconds IS NOT NULL AND i.destroyed_at IS NULL AND i.status = 'running'
          AND NOT EXISTS (SELECT FROM engines e WHERE e.machine_id = i.machine_id)
          AND NOT EXISTS (SELECT FROM simulated_outages o WHERE o.machine_id = i.machine_id)
          ORDER BY i.id`,
        { id: int8, image: text, numGpus: int4, diskMb: int4 },
      )
      if (found.length === 0) return
      const at = database.clock.now()
      const rows = found.map(({ id, ...load }) =>
        rowOf(simulation.statsAt({ instanceId: id, share: null, upAt: at, ...load }, at)),
      )
      await noteIdle(
        { database },
        sql`SELECT id AS instance_id, ${nowSql} AS at, gpu_utilization
          FROM json_to_recordset(${JSON.stringify(rows)}::json) AS s (id bigint, gpu_utilization smallint[])`,
      )
    },
  }
}

const maxInt = 2_147_483_647
const maxPercent = 100

function rowOf({ instanceId, cpuCores, memoryBytes, diskBytes, receivedBytes, sentBytes, gpus }: ContainerStats) {
  return {
    id: String(instanceId),
    received_bytes: wholeOf(receivedBytes, Number.MAX_SAFE_INTEGER),
    sent_bytes: wholeOf(sentBytes, Number.MAX_SAFE_INTEGER),
    cpu_cores: cpuCores === null ? null : Math.round(cpuCores * 1_000) / 1_000,
    memory_mb: wholeOf(inMb(memoryBytes), maxInt),
    disk_mb: wholeOf(inMb(diskBytes), maxInt),
    gpu_utilization: gpus.map(({ utilization }) => wholeOf(utilization, maxPercent)),
    gpu_memory_mb: gpus.map(({ memoryMb }) => wholeOf(memoryMb, maxInt)),
  }
}

/** What is out of range is not known. PostgreSQL would refuse the samples of the whole machine. */
function wholeOf(value: number | null, most: number): number | null {
  return value === null || !(value >= 0 && value <= most) ? null : Math.round(value)
}
