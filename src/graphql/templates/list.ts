import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { StringFilter, withoutNulls } from '../filters.ts'
import { pageSelectionOf } from '../selection.ts'
import { Template } from './templates.ts'

const TemplateFilter = builder.inputType('TemplateFilter', {
  description: 'Conditions for templates. All given fields must match; null and absent fields match every template.',
  fields: t => ({
    mine: t.boolean({ description: 'True for templates of your account, false for public ones of other accounts.' }),
    public: t.boolean({ description: 'True for templates that every account can rent with, false for private ones.' }),
    name: t.field({ type: StringFilter, description: 'Name that the owner gave the template.' }),
  }),
})

builder.queryField('templates', t =>
  t.connection(
    {
      type: Template,
      description:
        'Lists the templates of your account and the public ones of all accounts, newest first. Those of an account that the operator has disabled are hidden until it is enabled.',
      requires: 'templates.list',
      complexity: pageComplexity,
      args: { filter: t.arg({ type: TemplateFilter, description: 'Templates to list. Defaults to all.' }) },
      resolve: async (_root, { filter: input, ...page }, context, info) => {
        const { services, actor } = context
        const { mine, name, public: isPublic } = input ?? {}
        const filter = { mine: mine ?? undefined, name: withoutNulls(name), public: isPublic ?? undefined }
        const result = await services.templates.page(actor, filter, page, pageSelectionOf(context, info))
        return { filter, ...connectionOf(result) }
      },
    },
    {
      name: 'TemplateConnection',
      description: 'A page of templates.',
      fields: t => ({
        totalCount: t.int({
          description: 'Number of matching templates on all pages. Counted only when this field is requested.',
          resolve: ({ filter }, _args, { services, actor }) => services.templates.count(actor, filter),
        }),
      }),
    },
    { name: 'TemplateEdge', description: 'A template with its cursor.' },
  ),
)
