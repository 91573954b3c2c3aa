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
import { complainTo, isGiven, readColumns, readLimit } from '../columns.ts'
import { type Comparison, readFilters, readOrder } from '../filters.ts'
import { spelled } from '../offers/input.ts'
import { instanceFields } from './fields.ts'
import { instanceRowSchema } from './row.ts'
export const maxPageRows = 25
/** What a limit of nothing or less means. */
const fewRows = 5

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
      description: `How many at most, up to ${maxPageRows}, which is the default. Nothing or less is ${fewRows}.`,
    }),
  after_token: text('The next_token of the page before.'),
})

type Listing = {
  search: InstanceSearch
  page: { limit: number; after: string | undefined }
  columns: string[] | undefined
}

/** What is asked for, or an error that names everything that is wrong with it. */
export function readListing(query: z.output<typeof listQuery>): Listing {
  const issues: Issue[] = []
  const complain = complainTo(issues)
  const columns = readColumns(query.select_cols, instanceRowSchema, complain)
  const limit = readLimit(query.limit, { otherwise: maxPageRows, most: maxPageRows, few: fewRows }, complain)
  const table = { fields: instanceFields, read: readCondition }
  const conditions = readFilters<InstanceField, InstanceCondition>(query.select_filters, table, complain)
  const order = readOrder(query.order_by, { fields: instanceFields }, complain)
  const after = isGiven(query.after_token) ? query.after_token : undefined
  return { search: checkInstanceSearch({ conditions, order }, issues), page: { limit, after }, columns }
}

function readCondition({ name, field, operator, operand }: Comparison<InstanceField>): InstanceCondition | string {
  return readInstanceCondition(field, operator, spelled(name, operand))
}
