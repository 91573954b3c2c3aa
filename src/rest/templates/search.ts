// Reads a search for templates: filters, columns and an order as JSON in the URL.

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
import { type Comparison, parseFilters, parseOrder } from '../filters.ts'
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
    `As JSON: {"name": {"eq": "mine"}}. The fields are ${fieldNames}. Texts are compared without regard to case.`,
  ).optional(),
  select_cols: text('The columns to return, as a list in JSON; ["*"] is all, as is nothing.').optional(),
  order_by: text(`A field, or as JSON [{"col": "name", "dir": "asc"}]. The newest are first by default.`).optional(),
})
export const defaultPageRows = 25
export const maxPageRows = 100

export const templatePageQuery = templateQuery.extend({
  limit: text(`How many to return at most, up to ${maxPageRows}; ${defaultPageRows} by default.`).optional(),
  after_token: text('The next_token of the page before.').optional(),
})

const newestFirst: TemplateOrder = { field: 'id', direction: 'desc' }

/** At most so many, as many as there are where nothing is said. */
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

function parseCondition({ field, operator, operand }: Comparison<TemplateField>): TemplateCondition | string {
  return parseTemplateCondition(field, operator, operand)
}
