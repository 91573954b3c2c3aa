// Searches that begin with machines: there are several times fewer machines than offers, and their facts have indexes.

import { Prisma } from '../../../database/generated/client.ts'
import { andSql } from './filter.ts'
import { afterPositionSql } from './order.ts'
import {
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

const { sql } = Prisma

/** The machines that the filter leaves, as rows of `machines`. */
export function machinesSql(selection: TimedSelection): Prisma.Sql {
  return sql`SELECT m.* ${fromFilteredMachinesSql(selection)}`
}

/** Ends in a WHERE: append conditions with AND. */
export function fromFilteredMachinesSql(selection: TimedSelection): Prisma.Sql {
  return sql`FROM machines m JOIN gpu_models g ON g.id = m.gpu_model_id WHERE ${andSql(machineConditionsSql(selection))}`
}

/**
 * The offers of these machines that match, as k, g, o and m. OFFSET 0 has PostgreSQL look up the offers of each machine,
 * whatever it expects the filter to leave. Ends in a WHERE: append conditions with AND.
 */
export function fromMachinesSql(selection: TimedSelection, machines: Prisma.Sql): Prisma.Sql {
  return sql`FROM ${machines} m JOIN gpu_models g ON g.id = m.gpu_model_id
    CROSS JOIN LATERAL (SELECT * FROM offers WHERE machine_id = m.id AND withdrawn_at IS NULL OFFSET 0) o
    CROSS JOIN LATERAL (SELECT o.gpu_model_id, o.num_gpus) k
    WHERE ${andSql([...kindConditionsSql(selection), ...offerConditionsSql(selection)])}`
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
