// Reads which instances are listed, as clients write it in a URL: filters, an order and columns as JSON.

import { z } from 'zod'
import type { Issue } from '../../domain/errors.ts'
import {
  checkInstanceSearch,
  type InstanceCondition,
  type InstanceField,
  type InstanceSearch,
  readInstanceCondition,
} from '../../domain/instances/search/search.ts'
import { type Comparison, parseFilters, parseOrder } from '../filters.ts'
import { complainInto, isGiven, parseColumns, parseLimit } from '../list-parameters.ts'
import { parseWireValue } from '../offers/input.ts'
import { instanceFields } from './fields.ts'
import { instanceRowSchema } from './row.ts'
export const maxPageRows = 25
/** What a limit of nothing or less means. */
const fallbackPageRows = 5

const text = (about: string) => z.string().optional().describe(about)

export const listQuery = z.object({
  select_cols: text('The columns to return, as a list in JSON; ["*"] is all, as is nothing.'),
  select_filters: text(
    'Conditions that must all hold, as JSON: {"column": {"operator": value}} with eq, neq, gt, gte, lt, lte, in and notin. Null stands for no value.',
  ),
  order_by: text('What to sort by, as JSON: [{"col": "id", "dir": "asc"}]. The oldest come first where all is equal.'),
  limit: z
    .string()
    .optional()
    .meta({
      type: 'integer',
      description: `How many at most, up to ${maxPageRows}, which is the default. Nothing or less is ${fallbackPageRows}.`,
    }),
  after_token: text('The next_token of the page before.'),
})

type InstanceListQuery = {
  search: InstanceSearch
  page: { limit: number; after: string | undefined }
  columns: string[] | undefined
}

/** What is asked for, or an error that names everything that is wrong with it. */
export function parseListQuery(query: z.output<typeof listQuery>): InstanceListQuery {
  const issues: Issue[] = []
  const complain = complainInto(issues)
  const columns = parseColumns(query.select_cols, instanceRowSchema, complain)
  const limit = parseLimit(
    query.limit,
    { fallback: maxPageRows, maximum: maxPageRows, few: fallbackPageRows },
    complain,
  )
  const table = { fields: instanceFields, read: parseCondition }
  const conditions = parseFilters<InstanceField, InstanceCondition>(query.select_filters, table, complain)
  const order = parseOrder(query.order_by, { fields: instanceFields }, complain)
  const after = isGiven(query.after_token) ? query.after_token : undefined
  return { search: checkInstanceSearch({ conditions, order }, issues), page: { limit, after }, columns }
}

function parseCondition({ name, field, operator, operand }: Comparison<InstanceField>): InstanceCondition | string {
  return readInstanceCondition(field, operator, parseWireValue(name, operand))
}
