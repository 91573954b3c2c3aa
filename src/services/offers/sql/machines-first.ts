// Searches that begin with machines: there are several times fewer machines than offers, and their facts have indexes.

import { Prisma } from '../../../database/generated/client.ts'
import { fieldColumnOf } from './columns.ts'
import { andSql } from './filter.ts'
import { afterPositionSql } from './order.ts'
import {
  fieldsOfFilter,
  filtersMachines,
  kindConditionsSql,
  limitSql,
  machineConditionsSql,
  namesModels,
  offerConditionsSql,
  positionColumnsSql,
  positionOrderSql,
  type Slice,
  type TimedSelection,
} from './selection.ts'

const { sql, raw, empty } = Prisma

/** The machines that the filter leaves. */
export function machinesSql(selection: TimedSelection, order: Pick<Slice, 'keys'>): Prisma.Sql {
  return sql`SELECT ${machineColumnsSql(selection, order)} ${fromFilteredMachinesSql(selection)}`
}

/** The columns that `fromMachinesSql` reads of machines. Mostly these are few, and an index has them. */
export function machineColumnsSql(selection: TimedSelection, { keys }: Pick<Slice, 'keys'>): Prisma.Sql {
  const fields = [...keys.map(({ field }) => field), ...fieldsOfFilter(beyondMachines(selection).filter)]
  const read = fields.flatMap(field => fieldColumnOf(field, selection).machineColumns ?? [])
  return raw([...new Set(['id', 'gpu_model_id', ...read])].map(column => `m.${column}`).join(', '))
}

/** What is left to check of offers whose machines pass the filter. */
function beyondMachines(selection: TimedSelection): TimedSelection {
  const { filter } = selection
  const conditions = filter.conditions.filter(({ field }) => !fieldColumnOf(field, selection).machineSql)
  return { ...selection, filter: { ...filter, conditions } }
}

/** Ends in a WHERE: append conditions with AND. */
export function fromFilteredMachinesSql(selection: TimedSelection): Prisma.Sql {
  const models = kindConditionsSql(selection).length > 0 ? sql`JOIN gpu_models g ON g.id = m.gpu_model_id` : empty
  return sql`FROM machines m ${models} WHERE ${andSql(machineConditionsSql(selection))}`
}

/**
 * The offers that match of machines that the filter leaves, as k, g, o and m. OFFSET 0 has PostgreSQL look up the offers of
 * each machine, whatever it expects the filter to leave. Ends in a WHERE: append conditions with AND.
 */
export function fromMachinesSql(
  selection: TimedSelection,
  machines: Prisma.Sql,
  offers = sql`SELECT * FROM offers WHERE machine_id = m.id AND withdrawn_at IS NULL`,
): Prisma.Sql {
  const rest = beyondMachines(selection)
  return sql`FROM ${machines} m JOIN gpu_models g ON g.id = m.gpu_model_id
    CROSS JOIN LATERAL (${offers} OFFSET 0) o
    CROSS JOIN LATERAL (SELECT o.gpu_model_id, o.num_gpus) k
    WHERE ${andSql([...kindConditionsSql(rest), ...offerConditionsSql(rest)])}`
}

export function firstOfMachinesSql(selection: TimedSelection, slice: Slice, machines: Prisma.Sql): Prisma.Sql {
  const after = andSql(afterPositionSql(slice.after, slice.keys, selection))
  return sql`SELECT ${positionColumnsSql(selection, slice)} ${fromMachinesSql(selection, machines)} AND ${after}
    ORDER BY ${positionOrderSql(slice)} LIMIT ${limitSql(slice)}`
}

/** Whether a search may begin with machines. Of one model, copies of facts are filtered in the index. */
export function narrowsToMachines(selection: TimedSelection): boolean {
  return filtersMachines(selection, { beyondCopies: namesModels(selection) })
}
