// Reads a search for templates: filters, columns and an order as JSON in the URL.

import { z } from 'zod'
import { type Issue, invalidInput } from '../domain/errors.ts'
import {
  checkTemplateConditions,
  readTemplateCondition,
  type TemplateCondition,
  type TemplateField,
  type TemplateOrder,
  type TemplateSearch,
} from '../domain/templates-search.ts'
import { operators } from './offers-input.ts'
import { text } from './values.ts'

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
    `As JSON: {"name": {"eq": "mine"}}. The fields are ${names}; others are ignored. Texts are compared without regard to case.`,
  ).optional(),
  select_cols: text('The columns to return, as a list in JSON; ["*"] is all, as is nothing.').optional(),
  order_by: text(`A field, or as JSON [{"col": "name", "dir": "asc"}]. The newest are first by default.`).optional(),
})
export const templatePageQuery = templateQuery.extend({
  limit: text('How many to return at most, from 1 to 100; 25 by default.').optional(),
  after_token: text('The next_token of the page before.').optional(),
})
type Query = z.output<typeof templatePageQuery>

const maxColumns = 100

export function readTemplateSearch(query: Query, limit: number): { search: TemplateSearch; columns?: string[] } {
  const issues: Issue[] = []
  const found = readConditions(parse(query.select_filters, 'select_filters', issues), issues)
  const columns = readColumns(parse(query.select_cols, 'select_cols', issues), issues)
  const order = readOrder(query.order_by, issues)
  const conditions = checkTemplateConditions(found, issues)
  const search = { conditions, order, limit, after: query.after_token || undefined }
  return columns ? { search, columns } : { search }
}

/** As clients of the second version send it: nothing below 1 or above 100 is understood. */
export function readLimit({ limit }: Query): number {
  if (!limit) return 25
  const rows = Number(limit)
  if (Number.isInteger(rows) && rows >= 1 && rows <= 100) return rows
  throw invalidInput([{ path: 'limit', message: 'must be a whole number from 1 to 100.' }])
}

function parse(json: string | undefined, path: string, issues: Issue[]): unknown {
  if (!json) return undefined
  try {
    return JSON.parse(json) ?? undefined
  } catch {
    issues.push({ path, message: 'is not JSON.' })
    return undefined
  }
}

function readConditions(filters: unknown, issues: Issue[]): TemplateCondition[] {
  if (filters === undefined) return []
  if (typeof filters !== 'object' || filters === null || Array.isArray(filters)) {
    issues.push({ path: 'select_filters', message: 'must be an object, like {"name": {"eq": "mine"}}.' })
    return []
  }
  return Object.entries(filters).flatMap(([name, value]) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (!field || value === null) return []
    const isObject = typeof value === 'object' && !Array.isArray(value)
    const comparisons: object = isObject ? value : { [Array.isArray(value) ? 'in' : 'eq']: value }
    return Object.entries(comparisons).flatMap(([word, operand]) => {
      const operator = operators.get(word)
      const condition = operator ? readTemplateCondition(field, operator, operand) : 'is no operator'
      if (typeof condition === 'object') return [condition]
      issues.push({ path: `select_filters.${name}.${word}`.slice(0, 100).toWellFormed(), message: `${condition}.` })
      return []
    })
  })
}

function readColumns(columns: unknown, issues: Issue[]): string[] | undefined {
  if (columns === undefined) return undefined
  if (!Array.isArray(columns) || columns.length > maxColumns || !columns.every(name => isName(name))) {
    issues.push({ path: 'select_cols', message: `must be a list of at most ${maxColumns} names of columns.` })
    return undefined
  }
  return columns.includes('*') ? undefined : [...new Set<string>(columns)]
}

function isName(name: unknown): boolean {
  return typeof name === 'string' && name.length <= 64
}

/** One field, alone or in any of the forms that lists of this interface are ordered by. */
function readOrder(orderBy: string | undefined, issues: Issue[]): TemplateOrder {
  const newest: TemplateOrder = { field: 'id', direction: 'desc' }
  if (!orderBy) return newest
  const parsed = /^[[{"]/.test(orderBy.trim()) ? parse(orderBy, 'order_by', issues) : orderBy
  const first = Array.isArray(parsed) && typeof parsed[0] === 'object' ? parsed[0] : parsed
  if (first === undefined || (Array.isArray(first) && first.length === 0)) return newest
  const { col, dir } = Array.isArray(first) ? { col: first[0], dir: first[1] } : wordsOf(first)
  const field = typeof col === 'string' && Object.hasOwn(fields, col) ? fields[col] : undefined
  if (!field) {
    issues.push({ path: 'order_by', message: `must name one of ${names}.` })
    return newest
  }
  return { field, direction: dir === 'desc' ? 'desc' : 'asc' }
}

function wordsOf(order: unknown): { col?: unknown; dir?: unknown } {
  return typeof order === 'object' && order !== null ? order : { col: order }
}
