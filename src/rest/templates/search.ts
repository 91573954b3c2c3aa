// Parses a search for templates: filters, columns and an order as JSON in the URL.

import { z } from 'zod'
import type { Issue } from '../../domain/errors.ts'
import {
  checkTemplateConditions,
  parseTemplateCondition,
  type TemplateCondition,
  type TemplateField,
  type TemplateOrder,
  type TemplateSearch,
} from '../../domain/templates/search.ts'
import { parseFilters, parseOrder, type RawComparison } from '../filters.ts'
import { complainInto, isGiven, type LimitRules, parseColumns, parseLimit } from '../list-parameters.ts'
import { text } from '../values.ts'
import { templateRowSchema } from './row.ts'

const templateSearchFields: Record<string, TemplateField> = {
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
const fieldNames = Object.keys(templateSearchFields).join(', ')

export const templateQuery = z.object({
  select_filters: text(
    `Filters as JSON: {"name": {"eq": "mine"}}. The fields are ${fieldNames}. Comparisons of text ignore case.`,
  ).optional(),
  select_cols: text('Columns to return, as a JSON list. Absent or ["*"] means all columns.').optional(),
  order_by: text(`Field to sort by, or JSON: [{"col": "name", "dir": "asc"}]. Defaults to newest first.`).optional(),
})
export const defaultPageRows = 25
export const maxPageRows = 100

export const templatePageQuery = templateQuery.extend({
  limit: text(`Maximum number of templates, at most ${maxPageRows}; ${defaultPageRows} by default.`).optional(),
  after_token: text('The next_token of the previous page.').optional(),
})

const newestFirst: TemplateOrder = { field: 'id', direction: 'desc' }

/** Parses the query, or throws an error that lists every issue. `rows` has the default and maximum of the limit. */
export function parseTemplateSearch(
  query: z.output<typeof templatePageQuery>,
  rows: LimitRules,
): { search: TemplateSearch; columns: string[] | undefined } {
  const issues: Issue[] = []
  const complain = complainInto(issues)
  const table = { fields: templateSearchFields, read: parseCondition }
  const found = parseFilters<TemplateField, TemplateCondition>(query.select_filters, table, complain)
  const columns = parseColumns(query.select_cols, templateRowSchema, complain)
  const [order = newestFirst] = parseOrder(query.order_by, { fields: templateSearchFields, single: true }, complain)
  const limit = parseLimit(query.limit, rows, complain)
  const after = isGiven(query.after_token) ? query.after_token : undefined
  return { search: { conditions: checkTemplateConditions(found, issues), order, limit, after }, columns }
}

function parseCondition({ field, operator, operand }: RawComparison<TemplateField>): TemplateCondition | string {
  return parseTemplateCondition(field, operator, operand)
}
