import { z } from 'zod'
import type { Actor } from '../../domain/actor.ts'
import { mapInTurns } from '../../turns/in-turns.ts'
import { documentedFailureOf } from '../error-codes.ts'
import { selectColumns } from '../list-parameters.ts'
import { type Route, route } from '../route.ts'
import { integer, pathId, text } from '../values.ts'
import { type ShownTemplate, templateRow, templateRowSelect } from './present.ts'
import { type TemplateColumns, type TemplateRow, templateColumnsSchema, templateRowSchema } from './row.ts'
import { defaultPageRows, maxPageRows, parseTemplateSearch, templatePageQuery, templateQuery } from './search.ts'

const maxRows = 1_000
const success = z.literal(true).describe('Always true.')
const listFields = {
  success,
  msg: text('Message that no template matches. Absent if one does.').optional(),
  templates_found: integer('Number of templates in the list.'),
  templates: z.array(z.union([templateRowSchema, templateColumnsSchema])).describe('The templates.'),
}

export const templateListRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v0/template/',
    operationId: 'listTemplates',
    tag: 'Templates',
    summary: 'Search templates',
    about: `Searches the account's own templates and all public ones. Lists at most ${maxRows}.`,
    operation: 'templates.list',
    query: templateQuery,
    example: { query: { select_filters: '{"name": {"eq": "trainer"}}' } },
    result: z.object(listFields),
    answer: async ({ services, actor, query }) => {
      const { search, columns } = parseTemplateSearch(query, { fallback: maxRows, maximum: maxRows })
      const { templates } = await services.templates.search(actor, search, templateRowSelect(actor))
      return await listResultOf(actor, templates, columns)
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/template/',
    operationId: 'listTemplatePages',
    tag: 'Templates',
    summary: 'Search templates, in pages',
    about: "Searches the account's own templates and all public ones, in pages.",
    operation: 'templates.list',
    query: templatePageQuery,
    example: { query: { order_by: 'name', limit: '10' } },
    result: z.object({
      ...listFields,
      next_token: z.string().nullable().describe('Token of the next page; null on the last one.'),
    }),
    answer: async ({ services, actor, query }) => {
      const { search, columns } = parseTemplateSearch(query, { fallback: defaultPageRows, maximum: maxPageRows })
      const { templates, next } = await services.templates.search(actor, search, templateRowSelect(actor))
      return { ...(await listResultOf(actor, templates, columns)), next_token: next }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v0/users/{id}/templates/',
    operationId: 'listOwnTemplates',
    tag: 'Templates',
    summary: 'List the templates of the account',
    about: `Lists the account's own templates, last saved first, at most ${maxRows}.`,
    operation: 'templates.listOwn',
    params: z.object({ id: pathId('ID of the account that the key belongs to.') }),
    result: z.object({ success, templates: z.array(templateRowSchema).describe('The templates.') }),
    failures: [documentedFailureOf('NOT_FOUND', 'The id is not that of the account that the key belongs to.')],
    answer: async ({ services, actor, params: { id } }) => {
      const templates = await services.templates.listOwn(actor, id, maxRows, templateRowSelect(actor))
      return {
        success: true as const,
        templates: await mapInTurns(templates, template => templateRow(actor, template)),
      }
    },
  }),
]

async function listResultOf(actor: Actor, templates: ShownTemplate[], columns: string[] | undefined) {
  const rows = await mapInTurns(templates, template =>
    selectColumns<TemplateRow, TemplateColumns>(templateRow(actor, template), columns),
  )
  const none = rows.length === 0 ? { msg: 'No templates found' } : {}
  return { success: true as const, ...none, templates_found: rows.length, templates: rows }
}
