import { Prisma } from '../../../database/generated/client.ts'

const { sql } = Prisma

/**
 * The means of samples, one row for each instance and period: `instance_id`, `at` (the begin of the period) and the columns
 * of a sample. The traffic is that at the end. `source` has rows of samples, and `period` gives the period of `at`.
 */
export function meansSql(source: Prisma.Sql, period: Prisma.Sql): Prisma.Sql {
  return sql`
    WITH source AS MATERIALIZED (SELECT ${period} AS period, s.* FROM (${source}) s),
    loads AS (
      SELECT instance_id, period, n, avg(utilization) AS utilization, avg(gpu_mb) AS gpu_mb
      FROM source, unnest(gpu_utilization, gpu_memory_mb) WITH ORDINALITY AS gpu (utilization, gpu_mb, n)
      GROUP BY instance_id, period, n
    ),
    gpus AS (
      SELECT instance_id, period, array_agg(round(utilization)::smallint ORDER BY n) AS gpu_utilization,
        array_agg(round(gpu_mb)::int ORDER BY n) AS gpu_memory_mb
      FROM loads GROUP BY instance_id, period
    ),
    totals AS (
      SELECT instance_id, period, avg(cpu_cores)::real AS cpu_cores, round(avg(memory_mb))::int AS memory_mb,
        round(avg(disk_mb))::int AS disk_mb, (array_agg(received_bytes ORDER BY at DESC))[1] AS received_bytes,
        (array_agg(sent_bytes ORDER BY at DESC))[1] AS sent_bytes
      FROM source GROUP BY instance_id, period
    )
    SELECT t.instance_id, t.period AS at, t.received_bytes, t.sent_bytes, t.cpu_cores, t.memory_mb, t.disk_mb,
      coalesce(g.gpu_utilization, '{}') AS gpu_utilization, coalesce(g.gpu_memory_mb, '{}') AS gpu_memory_mb
    FROM totals t LEFT JOIN gpus g ON g.instance_id = t.instance_id AND g.period = t.period`
}
