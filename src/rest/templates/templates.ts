import { z } from 'zod'
import { answers } from '../error-codes.ts'
import { RestFailure } from '../errors.ts'
import { repeated } from '../failures.ts'
import { type Failure, type Route, route } from '../route.ts'
import { told } from '../success.ts'
import { boolean, text } from '../values.ts'
import { templateBody } from './body.ts'
import { conflict, path, templateChangeRoutes } from './change.ts'
import { readTemplate, saving } from './input.ts'
import { templateRow } from './present.ts'
import { templateRowSchema } from './row.ts'

const noSuchTemplate: Failure = {
  ...answers.NOT_FOUND,
  when: 'There is no such template, or it is not yours.',
}

export const templateRoutes: Route[] = [
  route({
    method: 'POST',
    path,
    operationId: 'createTemplate',
    tag: 'Templates',
    summary: 'Save a template',
    about: 'Saves settings under a hash that rentals name. The same settings twice are one template.',
    operation: 'templates.save',
    body: templateBody,
    repeatable: true,
    countsTwice: true,
    result: z.object({
      success: boolean('Whether it is a new one; false for one that was there already.'),
      msg: text('What was done, for people.'),
      template: templateRowSchema.describe('The template.'),
    }),
    failures: [conflict, ...repeated],
    answer: async ({ services, actor, body, idempotencyKey }) => {
      const { name = '', public: isPublic = false, launch, ...rest } = readTemplate(body)
      const { host = '', username = '', password = '' } = launch.registry ?? {}
      const wish = { name, public: isPublic, launch: { ...launch, registry: { host, username, password } }, ...rest }
      const keeping = services.templates.keep(actor, { wish, idempotencyKey })
      const { template, existed } = await saving(keeping, () => undefined)
      const words = existed ? 'Existing Template Found:' : 'Template Created Successfully! New Template ID:'
      return { success: !existed, msg: `${words} ${template.id}`, template: templateRow(actor, template) }
    },
  }),
  ...templateChangeRoutes,
  route({
    method: 'DELETE',
    path,
    operationId: 'deleteTemplate',
    tag: 'Templates',
    summary: 'Delete a template',
    about: 'What was rented with it stays as it is. It is named by its id or by its hash.',
    operation: 'templates.delete',
    body: z.object({
      template_id: z.int().min(0).optional().describe('Its id.'),
      hash_id: text('Its hash.').optional(),
    }),
    result: told,
    failures: [noSuchTemplate],
    answer: async ({ services, actor, body: { template_id: id, hash_id: hash } }) => {
      if (id === undefined && !hash) throw new RestFailure(400, 'invalid_args', 'Invalid Template ID or User ID')
      const deleting =
        id === undefined
          ? services.templates.deleteByHash(actor, hash ?? '')
          : services.templates.delete(actor, id).then(() => id)
      const deleted = await saving(deleting, ({ code }) => (code === 'NOT_FOUND' ? noSuchTemplate : undefined))
      return { success: true as const, msg: `Template ${deleted} Deleted Successfully` }
    },
  }),
]
