// Where samples are. Each hour of samples, and each day of minutes, has a partition of its own. The partitions take turns:
// the next one is emptied before its turn comes. So nothing is created, and no row is deleted by itself.

import { Prisma } from '../../../database/generated/client.ts'
import { keptMinutesMs, keptSamplesMs } from '../../../domain/instances/metrics.ts'

const { sql, raw } = Prisma

type Turns = { table: string; turnMs: number; count: number }

const [hourMs, dayMs] = [3_600_000, 86_400_000]

/** Besides what is kept, there is the partition that fills, and the empty one that is next. */
export const sampleTurns: Turns = { table: 'samples', turnMs: hourMs, count: keptSamplesMs / hourMs + 2 }
export const minuteTurns: Turns = { table: 'sample_minutes', turnMs: dayMs, count: keptMinutesMs / dayMs + 2 }

/** The partition of an instant. */
export function slotSql({ turnMs, count }: Turns, at: Prisma.Sql): Prisma.Sql {
  return sql`((floor(extract(epoch FROM ${at}))::bigint / ${raw(String(turnMs / 1_000))}) % ${raw(String(count))})::smallint`
}

/** The name of the partition whose turn is next. */
export function nextPartition({ table, turnMs, count }: Turns, at: Date): string {
  return `${table}_${(Math.floor(at.getTime() / turnMs) + 1) % count}`
}
