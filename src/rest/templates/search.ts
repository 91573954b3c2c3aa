// Reads a search for templates: filters, columns and an order as JSON in the URL.

import { z } from 'zod'
import type { Issue } from '../../domain/errors.ts'
import {
  checkTemplateConditions,
  readTemplateCondition,
  type TemplateCondition,
  type TemplateField,
  type TemplateOrder,
  type TemplateSearch,
} from '../../domain/templates/search.ts'
import { complainTo, isGiven, readColumns, readLimit } from '../columns.ts'
import { type Comparison, readFilters, readOrder } from '../filters.ts'
import { text } from '../values.ts'
import { templateRowSchema } from './row.ts'

const fields: Record<string, TemplateField> = {
  id: 'id',
  hash_id: 'hashId',
  name: 'name',
  image: 'image',
  desc: 'description',
  creator_id: 'creatorId',
  private: 'private',
  created_at: 'createdAt',
  count_created: 'rentals',
  recommended_disk_space: 'diskGb',
  use_ssh: 'usesSsh',
  ssh_direct: 'directSsh',
  jup_direct: 'directNotebook',
  use_jupyter_lab: 'lab',
  recommended: 'recommended',
}
const names = Object.keys(fields).join(', ')

export const templateQuery = z.object({
  select_filters: text(
    `As JSON: {"name": {"eq": "mine"}}. The fields are ${names}. Texts are compared without regard to case.`,
  ).optional(),
  select_cols: text('The columns to return, as a list in JSON; ["*"] is all, as is nothing.').optional(),
  order_by: text(`A field, or as JSON [{"col": "name", "dir": "asc"}]. The newest are first by default.`).optional(),
})
export const pageRows = 25
export const maxPageRows = 100

export const templatePageQuery = templateQuery.extend({
  limit: text(`How many to return at most, up to ${maxPageRows}; ${pageRows} by default.`).optional(),
  after_token: text('The next_token of the page before.').optional(),
})

const newest: TemplateOrder = { field: 'id', direction: 'desc' }

/** At most so many, as many as there are where nothing is said. */
export function readTemplateSearch(
  query: z.output<typeof templatePageQuery>,
  rows: { otherwise: number; most: number },
): { search: TemplateSearch; columns: string[] | undefined } {
  const issues: Issue[] = []
  const complain = complainTo(issues)
  const table = { fields, read: readCondition }
  const found = readFilters<TemplateField, TemplateCondition>(query.select_filters, table, complain)
  const columns = readColumns(query.select_cols, templateRowSchema, complain)
  const [order = newest] = readOrder(query.order_by, { fields, single: true }, complain)
  const limit = readLimit(query.limit, rows, complain)
  const after = isGiven(query.after_token) ? query.after_token : undefined
  return { search: { conditions: checkTemplateConditions(found, issues), order, limit, after }, columns }
}

function readCondition({ field, operator, operand }: Comparison<TemplateField>): TemplateCondition | string {
  return readTemplateCondition(field, operator, operand)
}
