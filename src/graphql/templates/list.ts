import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { permissionSentence } from '../permission.ts'
import { Template } from './templates.ts'

const TemplateFilter = builder.inputType('TemplateFilter', {
  description: 'Which templates are wanted: those for which every part holds that is given.',
  fields: t => ({
    mine: t.boolean({ description: "Those of the account; with `false`, other accounts' public ones." }),
    public: t.boolean({ description: 'Those with which everybody can rent; with `false`, those that are private.' }),
    name: t.string({ description: 'Those with this anywhere in their name, in any case of letters.' }),
  }),
})

builder.queryField('templates', t =>
  t.connection(
    {
      type: Template,
      description: `The account's templates and everybody's public ones, the newest first. ${permissionSentence('templates.list')}`,
      complexity: pageComplexity,
      args: { filter: t.arg({ type: TemplateFilter, description: 'Which are wanted. All of them, when absent.' }) },
      resolve: async (_root, { filter: given, ...page }, { services, actor }) => {
        const { mine, name, public: isPublic } = given ?? {}
        const filter = { mine: mine ?? undefined, name: name ?? undefined, public: isPublic ?? undefined }
        return { filter, ...connectionOf(await services.templates.page(actor, filter, page)) }
      },
    },
    {
      name: 'TemplateConnection',
      description: 'A page of templates.',
      fields: t => ({
        totalCount: t.int({
          description: 'How many match, on all pages. It is counted only when asked for.',
          resolve: ({ filter }, _args, { services, actor }) => services.templates.count(actor, filter),
        }),
      }),
    },
    { name: 'TemplateEdge', description: 'A template, and where it stands in the list.' },
  ),
)
