// Reads what instances on real machines used.

import { Prisma } from '../../../database/generated/client.ts'
import { float8, int4, int8, json, nullable, type RowOf, timestamptz } from '../../../database/row-types.ts'
import {
  type InstanceMetrics,
  inMb,
  type MetricsRange,
  periodStart,
  sampleMs,
} from '../../../domain/instances/metrics.ts'
import type { DataDeps } from '../../deps.ts'
import { meansSql } from './means.ts'

const { sql } = Prisma

type Loads = (number | null)[]

const row = {
  ...{ instanceId: int8, at: timestamptz, receivedBytes: nullable(int8), sentBytes: nullable(int8) },
  ...{ cpuCores: nullable(float8), memoryMb: nullable(int4), diskMb: nullable(int4) },
  ...{ gpuUtilization: json<Loads>(), gpuMemoryMb: json<Loads>() },
}
const columns = sql`instance_id, at, received_bytes, sent_bytes, cpu_cores::float8, memory_mb, disk_mb,
  to_json(gpu_utilization) AS gpu_utilization, to_json(gpu_memory_mb) AS gpu_memory_mb`

/** Older samples do not show what an instance uses now. */
const freshMs = 4 * sampleMs

/** The means of periods by instance, oldest first. Periods without samples are left out. */
export async function readSampled(
  { database }: DataDeps,
  ids: readonly bigint[],
  { lastSeconds, resolutionSeconds }: MetricsRange,
  at: Date,
): Promise<Map<bigint, InstanceMetrics[]>> {
  const lengthMs = resolutionSeconds * 1_000
  const from = new Date(periodStart(at.getTime() - lastSeconds * 1_000, lengthMs))
  const which = sql`instance_id = ANY(${ids.map(String)}::bigint[])`
  // Fine periods can be asked for as long as samples are kept.
  const source =
    lengthMs < 60_000
      ? sql`SELECT * FROM samples WHERE ${which} AND at >= ${from}::timestamptz`
      : sql`SELECT * FROM sample_minutes WHERE ${which} AND at >= ${from}::timestamptz
          AND at < (SELECT minutes_until FROM sample_progress)
        UNION ALL SELECT * FROM samples WHERE ${which} AND at >= ${from}::timestamptz
          AND at >= (SELECT minutes_until FROM sample_progress)`
  const period = sql`date_bin(${lengthMs} * interval '1 millisecond', s.at, 'epoch'::timestamptz)`
  const rows = await database.query(
    sql`SELECT ${columns} FROM (${meansSql(source, period)}) m ORDER BY instance_id, at`,
    row,
  )
  return Map.groupBy(
    rows.map(one => ({ id: one.instanceId, ...metricsOf(one, one.at, new Date(one.at.getTime() + lengthMs)) })),
    ({ id }) => id,
  )
}

/** The newest sample of each instance that has one of the last minute. */
export async function readNewest(
  { database }: DataDeps,
  ids: readonly bigint[],
): Promise<Map<bigint, InstanceMetrics>> {
  const { nowSql } = database
  const rows = await database.query(
    sql`SELECT DISTINCT ON (instance_id) ${columns} FROM samples
      WHERE instance_id = ANY(${ids.map(String)}::bigint[]) AND at > ${nowSql} - ${freshMs} * interval '1 millisecond'
      ORDER BY instance_id, at DESC`,
    row,
  )
  return new Map(
    rows.map(one => [one.instanceId, metricsOf(one, new Date(one.at.getTime() - sampleMs), one.at)] as const),
  )
}

function metricsOf(
  { receivedBytes, sentBytes, cpuCores, memoryMb, diskMb, gpuUtilization, gpuMemoryMb }: RowOf<typeof row>,
  startsAt: Date,
  endsAt: Date,
): InstanceMetrics {
  return {
    ...{ startsAt, endsAt, cpuCores, memoryMb, diskMb, receivedMb: inMb(receivedBytes), sentMb: inMb(sentBytes) },
    gpus: gpuUtilization.map((utilization, index) => ({ utilization, memoryMb: gpuMemoryMb[index] ?? null })),
  }
}
