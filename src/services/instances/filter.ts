// The filter of instances in SQL.

import { Prisma } from '../../database/generated/client.ts'
import type { Actor } from '../../domain/actor.ts'
import type { IdConditions, InstanceFilter, NumberConditions } from '../../domain/instances/filter.ts'
import { instantFilterSql } from '../instant-filter.ts'
import { textConditionsSql } from '../text-conditions.ts'

const { sql, raw } = Prisma

/** Conditions for the account's instances `i` that match a filter. */
export function matchingInstancesSql({ accountId }: Pick<Actor, 'accountId'>, filter: InstanceFilter): Prisma.Sql[] {
  return [sql`i.account_id = ${accountId}`, ...instanceFilterSql(filter)]
}

/** Conditions for instances `i` of any account that match a filter. */
export function instanceFilterSql(filter: InstanceFilter): Prisma.Sql[] {
  const { ids, label, targetState, gpuName, numGpus, machineId, templateId, templateHashId, createdAt } = filter
  const { idempotencyKey, rentalKind } = filter
  return [
    ...statusSql(filter),
    ...(ids ? [sql`i.id = ANY(${ids.map(String)}::bigint[])`] : []),
    ...(label ? textConditionsSql(sql`coalesce(i.label, '')`, label) : []),
    ...(targetState ? [sql`i.target_state = ${targetState}::target_state`] : []),
    ...(rentalKind ? [sql`i.interruptible = ${rentalKind === 'interruptible'}`] : []),
    ...(gpuName ? textConditionsSql(gpuNameSql, gpuName) : []),
    ...(numGpus ? valueSql(sql`i.num_gpus`, numGpus) : []),
    ...(machineId ? valueSql(sql`i.machine_id`, machineId) : []),
    ...(templateId !== undefined ? [sql`i.template_id = ${String(templateId)}::bigint`] : []),
    ...(templateHashId !== undefined ? [sql`i.template_hash = ${templateHashId}`] : []),
    ...(createdAt ? instantFilterSql(sql`i.created_at`, createdAt) : []),
    ...(idempotencyKey !== undefined ? [sql`i.idempotency_key = ${idempotencyKey}`] : []),
  ]
}

/** A scalar subquery, so that a statement without this condition joins no machines. */
const gpuNameSql = sql`(SELECT g.name FROM machines m JOIN gpu_models g ON g.id = m.gpu_model_id WHERE m.id = i.machine_id)`

/** The status that renters see: a destroyed instance has the status `destroyed`, whatever its row says. */
function statusSql({ ids, status }: InstanceFilter): Prisma.Sql[] {
  const isLiving = sql`i.destroyed_at IS NULL`
  if (!status) return ids ? [] : [isLiving]
  const statuses = status.filter(one => one !== 'destroyed')
  const isOne = sql`i.status = ANY(${statuses}::instance_status[])`
  if (!status.includes('destroyed')) return [isLiving, isOne]
  return [statuses.length === 0 ? sql`i.destroyed_at IS NOT NULL` : sql`(i.destroyed_at IS NOT NULL OR ${isOne})`]
}

function valueSql(column: Prisma.Sql, conditions: IdConditions | NumberConditions): Prisma.Sql[] {
  const { eq, neq, in: one, nin } = conditions
  return [
    ...(eq !== undefined ? [sql`${column} = ${String(eq)}::bigint`] : []),
    ...(neq !== undefined ? [sql`${column} <> ${String(neq)}::bigint`] : []),
    ...(one ? [sql`${column} = ANY(${one.map(String)}::bigint[])`] : []),
    ...(nin ? [sql`${column} <> ALL(${nin.map(String)}::bigint[])`] : []),
    ...(['gt', 'gte', 'lt', 'lte'] as const).flatMap(operator => {
      const value = (conditions as NumberConditions)[operator]
      return value === undefined ? [] : [sql`${column} ${orderOperators[operator]} ${String(value)}::bigint`]
    }),
  ]
}

const orderOperators = { gt: raw('>'), gte: raw('>='), lt: raw('<'), lte: raw('<=') }
