import { Prisma } from '../../../database/generated/client.ts'
import {
  fieldTypeOf,
  type InstanceCondition,
  type InstanceField,
  type InstanceOrderKey,
} from '../../../domain/instances/search/search.ts'
import { holdsGpusSql } from '../sql.ts'

const { sql, join, raw, empty } = Prisma

/** Instances `i` with their machines `m` and GPU models `g`, which the columns of a search name. */
export const instancesFromSql = sql`instances i JOIN machines m ON m.id = i.machine_id JOIN gpu_models g ON g.id = m.gpu_model_id`

/** The same rule as `shownStatusOf` in domain/instances/search/search.ts. */
export const shownStatusSql = sql`(CASE i.status WHEN 'scheduling' THEN CASE WHEN i.started_at IS NULL THEN 'created' ELSE 'stopped' END
  WHEN 'stopping' THEN CASE WHEN i.target_state = 'running' THEN 'loading' ELSE 'running' END
  WHEN 'running' THEN CASE WHEN i.target_state = 'running' AND i.restart IS NOT NULL THEN 'loading' ELSE 'running' END
  ELSE i.status::text END)`

/** Instants are seconds since 1970. */
const columns: Record<InstanceField, Prisma.Sql> = {
  id: sql`i.id`,
  label: sql`i.label`,
  shownStatus: shownStatusSql,
  targetState: sql`i.target_state::text`,
  held: sql`(CASE WHEN ${holdsGpusSql} THEN 'running' ELSE 'stopped' END)`,
  interruptible: sql`i.interruptible`,
  image: sql`(i.launch ->> 'image')`,
  templateId: sql`i.template_id`,
  templateHash: sql`i.template_hash`,
  gpuName: sql`lower(g.name)`,
  numGpus: sql`i.num_gpus`,
  gpuRamMb: sql`g.ram_mb`,
  gpuTotalRamMb: sql`(g.ram_mb * i.num_gpus)`,
  cpuCores: sql`m.cpu_cores`,
  cpuRamMb: sql`m.cpu_ram_mb`,
  diskGb: sql`(i.disk_mb / 1000.0)`,
  cudaVersion: sql`version_number(m.cuda_version)`,
  downloadMbps: sql`m.download_mbps`,
  uploadMbps: sql`m.upload_mbps`,
  machineId: sql`i.machine_id`,
  hostId: sql`m.host_id`,
  country: sql`lower(m.country)`,
  verification: sql`lower(m.verification::text)`,
  reliability: sql`m.reliability`,
  gpuPricePerHour: sql`i.gpu_price_nanos`,
  pricePerHour: sql`(i.gpu_price_nanos + i.disk_nanos)`,
  storagePerHour: sql`i.disk_nanos`,
  createdAt: sql`extract(epoch FROM i.created_at)`,
  endsAt: sql`extract(epoch FROM i.ends_at)`,
}

const columnTypes = { number: 'float8', usd: 'bigint', text: 'text', word: 'text', boolean: 'boolean' } as const
const sqlOperators = { gt: raw('>'), gte: raw('>='), lt: raw('<'), lte: raw('<=') }

/** A NULL column equals only a null value. */
export function conditionSql({ field, operator, values }: InstanceCondition): Prisma.Sql {
  const type = raw(columnTypes[fieldTypeOf(field)])
  const column = sql`${columns[field]}::${type}`
  const given = values.filter(value => value !== null).map(String)
  if (operator !== 'eq' && operator !== 'neq' && operator !== 'in' && operator !== 'nin') {
    return sql`${column} ${sqlOperators[operator]} ${given[0]}::${type}`
  }
  const orNothing = values.includes(null) ? sql` OR ${column} IS NULL` : empty
  const isOne = sql`(coalesce(${column} = ANY(${given}::${type}[]), false)${orNothing})`
  return operator === 'eq' || operator === 'in' ? isOne : sql`NOT ${isOne}`
}

const orderTypes = { number: 'float8', usd: 'bigint', text: 'text', word: 'text', boolean: 'int' } as const

/** NULL sorts as "" or 0. Texts sort by code point, independent of the database's collation. */
function orderedColumn(field: InstanceField): Prisma.Sql {
  if (field === 'id') return columns.id
  const type = orderTypes[fieldTypeOf(field)]
  const column = sql`${columns[field]}::${raw(type)}`
  return type === 'text' ? sql`coalesce(${column}, '') COLLATE "C"` : sql`coalesce(${column}, 0)`
}

export function orderSql(order: InstanceOrderKey[]): Prisma.Sql {
  return join(order.map(({ field, direction }) => sql`${orderedColumn(field)} ${raw(direction)}`))
}

/** The position of a row in an order, as texts that parse back to the same values. */
export function positionSql(order: InstanceOrderKey[]): Prisma.Sql {
  return join(order.map(({ field }) => sql`${orderedColumn(field)}::text`))
}

/** Rows after a position: the first key is after it, or is equal and the second key is after it, and so on. */
export function afterPositionSql(position: string[], order: InstanceOrderKey[]): Prisma.Sql {
  const equal: Prisma.Sql[] = []
  const alternatives = order.map(({ field, direction }, index) => {
    const type = raw(field === 'id' ? 'bigint' : orderTypes[fieldTypeOf(field)])
    const [column, value] = [orderedColumn(field), sql`${position[index]}::${type}`]
    const step = join([...equal, sql`${column} ${raw(direction === 'asc' ? '>' : '<')} ${value}`], ' AND ')
    equal.push(sql`${column} = ${value}`)
    return sql`(${step})`
  })
  return sql`(${join(alternatives, ' OR ')})`
}
