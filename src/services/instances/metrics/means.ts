import { Prisma } from '../../../database/generated/client.ts'
import { maxGpus } from '../../../domain/machines/machines.ts'

const { sql, raw } = Prisma

/**
 * The means of samples, one row for each instance and period: `instance_id`, `at` (the begin of the period) and the columns
 * of a sample. The traffic is that at the end. `source` has rows of samples, and `period` gives the period of `at`.
 */
export function meansSql(source: Prisma.Sql, period: Prisma.Sql): Prisma.Sql {
  return sql`
    SELECT instance_id, period AS at, (array_agg(received_bytes ORDER BY at DESC))[1] AS received_bytes,
      (array_agg(sent_bytes ORDER BY at DESC))[1] AS sent_bytes, avg(cpu_cores)::real AS cpu_cores,
      round(avg(memory_mb))::int AS memory_mb, round(avg(disk_mb))::int AS disk_mb,
      ${gpuMeansSql('gpu_utilization', 'smallint')} AS gpu_utilization,
      ${gpuMeansSql('gpu_memory_mb', 'int')} AS gpu_memory_mb
    FROM (SELECT ${period} AS period, s.* FROM (${source}) s) s GROUP BY instance_id, period`
}

/** A column for each GPU that a machine can have takes a third of the time of a row for each. */
function gpuMeansSql(column: string, type: string): Prisma.Sql {
  const means = Array.from({ length: maxGpus }, (_, index) => `round(avg(${column}[${index + 1}]))::${type}`)
  return raw(`(ARRAY[${means.join(', ')}])[1:max(cardinality(${column}))]`)
}
