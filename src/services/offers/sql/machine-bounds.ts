// The orders in which searches read machines.

import { Prisma } from '../../../database/generated/client.ts'
import { fieldTypeOf } from '../../../domain/offers/fields.ts'
import type { OrderKey } from '../../../domain/offers/order.ts'
import { type ColumnContext, fieldColumnOf } from './columns.ts'

const { sql, raw, empty } = Prisma

export type MachineBound = {
  /** No offer of a machine comes before this in the order of the key. Indexed, unless `readBy` is. */
  bound: Prisma.Sql
  /** What machines are read by: the same order in a form that has an index. */
  readBy: Prisma.Sql
  /** Whether all offers of a machine have the bound as their value. */
  isFact: boolean
}

/** For an order that begins with a fact of machines, or with a figure that a fact of machines bounds. */
export function machineBoundOf(key: OrderKey, context: ColumnContext): MachineBound | undefined {
  const unequal = boundOfUnequal(key)
  if (unequal) return { bound: raw(unequal), readBy: raw(unequal), isFact: false }
  const { scope, machineSql } = fieldColumnOf(key.field, context)
  if (scope === 'kind' || !machineSql) return undefined
  const bound = sql`${machineSql}${fieldTypeOf(key.field) === 'text' ? raw(' COLLATE "C"') : empty}`
  return { bound, readBy: readByOf(key) ?? bound, isFact: true }
}

/** Rentals change free disk and ports, so these have no index. Shares of a machine differ between its offers. */
function boundOfUnequal({ field, direction }: OrderKey): string | undefined {
  switch (`${field} ${direction}` as const) {
    case 'maxDiskGb desc':
    case 'freeDiskGb desc':
      return '(m.disk_mb::float8 / 1000)'
    case 'freePorts desc':
      return '(m.last_port - m.first_port + 1)'
    case 'gpuFraction asc':
      return '(1::float8 / m.num_gpus)'
    case 'gpuFraction desc':
      return '1::float8'
    case 'cpuCoresEffective asc':
      return '(m.cpu_cores::float8 / m.num_gpus)'
    case 'cpuCoresEffective desc':
      return 'm.cpu_cores'
    default:
      return undefined
  }
}

function readByOf({ field }: OrderKey): Prisma.Sql | undefined {
  switch (field) {
    case 'listedUntil':
    case 'availableSeconds':
      return raw('m.listed_until')
    case 'diskPricePerHour':
      return raw('m.disk_price_per_gb_month_nanos')
    default:
      return undefined
  }
}
