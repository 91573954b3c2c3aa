// Which offers a search matches, as conditions of SQL. Aliases as in columns.ts.

import { Prisma } from '../../../database/generated/client.ts'
import type { FieldValue, OfferField } from '../../../domain/offers/fields.ts'
import type { Condition, OfferFilter } from '../../../domain/offers/filter.ts'
import type { Pricing } from '../../../domain/offers/offers.ts'
import type { OrderKey } from '../../../domain/offers/order.ts'
import { type ColumnContext, fieldColumnOf } from './columns.ts'
import { conditionSql, filterSql } from './filter.ts'
import { orderColumnSql } from './order.ts'

const { sql, join, raw, empty } = Prisma

/**
 * Which offers a search matches, without an order. `bundled` shows one offer for each bundle: a machine's offers with the
 * same GPU count and price that are all rentable, or all not rentable.
 */
export type OfferSelection = { filter: OfferFilter; pricing: Pricing; bundled: boolean }
/** How many offers and machines a search reads before it tries another way, and how many offers it counts. */
export type ReadLimits = { offers: number; machines: number; count: number }
/** A selection with the time that its conditions are checked at. */
export type TimedSelection = OfferSelection & ColumnContext & { limits: ReadLimits }
/** `limit` rows in the order of `keys`, from the first or from after a position. */
export type Slice = { keys: OrderKey[]; after: FieldValue[] | undefined; limit: number }

/** The offer's id, and what the order keys compare as k0, k1 and so on. Also, as p0 and so on, what a cursor keeps instead. */
export function positionColumnsSql(selection: TimedSelection, { keys }: Slice): Prisma.Sql {
  const columns = keys.flatMap(({ field }, index) => {
    const { positionSql } = fieldColumnOf(field, selection)
    const compared = sql`${orderColumnSql(field, selection)} AS ${raw(`k${index}`)}`
    return positionSql ? [compared, sql`${positionSql} AS ${raw(`p${index}`)}`] : [compared]
  })
  return sql`o.id AS offer_id, ${join(columns)}`
}

/** The names of those columns. */
export function positionNamesOf(selection: TimedSelection, { keys }: Slice): string[] {
  const ofKey = ({ field }: OrderKey, index: number) => {
    return fieldColumnOf(field, selection).positionSql ? [`k${index}`, `p${index}`] : [`k${index}`]
  }
  return ['offer_id', ...keys.flatMap(ofKey)]
}

/** The number of rows stands in the text, where a plan for any values knows it. */
export function limitSql({ limit }: Slice): Prisma.Sql {
  return raw(String(limit))
}

export function positionOrderSql({ keys }: Slice): Prisma.Sql {
  return raw(keys.map(({ direction }, index) => `k${index} ${direction}`).join(', '))
}

/**
 * Whether the filter names offers, machines or hosts. Few offers match then, and PostgreSQL finds them by these ids.
 */
export function isPinned({ filter }: TimedSelection): boolean {
  return names(filter.conditions, ['id', 'machineId', 'hostId'])
}

/** Whether the filter names GPU models, so that a search reads few kinds of offers. */
export function namesModels({ filter }: TimedSelection): boolean {
  return names(filter.conditions, ['gpuName'])
}

function names(conditions: Condition[], fields: OfferField[]): boolean {
  return conditions.some(({ field, operator }) => fields.includes(field) && (operator === 'eq' || operator === 'in'))
}

function isKindField(field: OfferField, selection: TimedSelection): boolean {
  return fieldColumnOf(field, selection).scope === 'kind'
}

export function kindConditionsSql(selection: TimedSelection): Prisma.Sql[] {
  const conditions = selection.filter.conditions.filter(({ field }) => isKindField(field, selection))
  return conditions.map(condition => conditionSql(condition, selection))
}

/** All that `kindConditionsSql` leaves: conditions on offers and machines, the alternatives, and the bundle. */
export function offerConditionsSql(selection: TimedSelection): Prisma.Sql[] {
  const { bundled, pricing, filter } = selection
  const conditions = filter.conditions.filter(({ field }) => !isKindField(field, selection))
  // The offer that stands for its bundle. Bids have prices of their own, and so bundles of their own.
  const leadsBundle = raw(pricing.rentalKind === 'onDemand' ? 'o.leads' : 'o.leads_bids')
  return [...(bundled ? [leadsBundle] : []), ...filterSql({ ...filter, conditions }, selection)]
}

/** What the conditions say of machines and their GPU models, from m and g alone. */
export function machineConditionsSql(selection: TimedSelection): Prisma.Sql[] {
  return selection.filter.conditions.flatMap(condition => {
    const { machineSql } = fieldColumnOf(condition.field, selection)
    return machineSql ? [conditionSql(condition, selection, machineSql)] : []
  })
}

/** Whether a condition is about the machine. `beyondCopies`: about a fact of which offers have no copy. */
export function filtersMachines(selection: TimedSelection, { beyondCopies }: { beyondCopies: boolean }): boolean {
  return selection.filter.conditions.some(({ field }) => {
    const { scope, machineSql } = fieldColumnOf(field, selection)
    return scope === 'machine' || (!beyondCopies && scope === 'offer' && machineSql !== undefined)
  })
}

/** Whether the fields, or those of the filter, read machines. */
export function usesMachine(selection: TimedSelection, fields: readonly OfferField[]): boolean {
  const isOfMachine = (field: OfferField) => fieldColumnOf(field, selection).scope === 'machine'
  return [...fields, ...fieldsOfFilter(selection.filter)].some(isOfMachine)
}

export function fieldsOfFilter({ conditions, anyOf }: OfferFilter): OfferField[] {
  return [...conditions.map(({ field }) => field), ...anyOf.flatMap(fieldsOfFilter)]
}

export function machineJoinSql(selection: TimedSelection, fields: readonly OfferField[]): Prisma.Sql {
  return usesMachine(selection, fields) ? sql`JOIN machines m ON m.id = o.machine_id` : empty
}

export function fieldsOf({ keys }: Slice): OfferField[] {
  return keys.map(({ field }) => field)
}
