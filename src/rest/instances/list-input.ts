// Parses the search of an instance list from a URL: filters, an order and columns as JSON.

import { z } from 'zod'
import type { Issue } from '../../domain/errors.ts'
import {
  checkInstanceSearch,
  type InstanceCondition,
  type InstanceField,
  type InstanceSearch,
  readInstanceCondition,
} from '../../domain/instances/search/search.ts'
import { parseFilters, parseOrder, type RawComparison } from '../filters.ts'
import { complainInto, isGiven, parseColumns, parseLimit } from '../list-parameters.ts'
import { parseWireValue } from '../offers/input.ts'
import { instanceFields } from './fields.ts'
import { instanceRowSchema } from './row.ts'

const maxPageRows = 25
/** The page size for a limit of 0 or less. */
const fallbackPageRows = 5

const text = (about: string) => z.string().optional().describe(about)

export const listQuery = z.object({
  select_cols: text('Columns to return, as a JSON list. Absent or ["*"] means all columns.'),
  select_filters: text(
    'Conditions that must all hold, as JSON: {"column": {"operator": value}} with eq, neq, gt, gte, lt, lte, in and notin. Null matches rows without a value.',
  ),
  order_by: text('Order as JSON: [{"col": "id", "dir": "asc"}]. Equal rows are sorted oldest first.'),
  limit: z
    .string()
    .optional()
    .meta({
      type: 'integer',
      description: `Maximum number of instances, at most ${maxPageRows}, which is the default. 0 or less means ${fallbackPageRows}.`,
    }),
  after_token: text('The next_token of the previous page.'),
})

type InstanceListQuery = {
  search: InstanceSearch
  page: { limit: number; after: string | undefined }
  columns: string[] | undefined
}

/** Parses the query, or throws an error that lists every issue. */
export function parseListQuery(query: z.output<typeof listQuery>): InstanceListQuery {
  const issues: Issue[] = []
  const complain = complainInto(issues)
  const columns = parseColumns(query.select_cols, instanceRowSchema, complain)
  const limit = parseLimit(
    query.limit,
    { fallback: maxPageRows, maximum: maxPageRows, belowOne: fallbackPageRows },
    complain,
  )
  const table = { fields: instanceFields, read: parseCondition }
  const conditions = parseFilters<InstanceField, InstanceCondition>(query.select_filters, table, complain)
  const order = parseOrder(query.order_by, { fields: instanceFields }, complain)
  const after = isGiven(query.after_token) ? query.after_token : undefined
  return { search: checkInstanceSearch({ conditions, order }, issues), page: { limit, after }, columns }
}

function parseCondition({ name, field, operator, operand }: RawComparison<InstanceField>): InstanceCondition | string {
  return readInstanceCondition(field, operator, parseWireValue(name, operand))
}
