import { z } from 'zod'
import { answers } from '../error-codes.ts'
import { RestFailure } from '../errors.ts'
import { idempotencyFailures } from '../failures.ts'
import { messageResult } from '../results.ts'
import { type Failure, type Route, route } from '../route.ts'
import { boolean, text } from '../values.ts'
import { templateBody } from './body.ts'
import { parseTemplateBody, rewordTemplateErrors } from './input.ts'
import { templateRow } from './present.ts'
import { templateRowSchema } from './row.ts'
import { duplicateTemplate, templatePath, templateUpdateRoutes } from './update.ts'

const noSuchTemplate: Failure = {
  ...answers.NOT_FOUND,
  when: 'There is no such template, or it is not yours.',
}

export const templateRoutes: Route[] = [
  route({
    method: 'POST',
    path: templatePath,
    operationId: 'createTemplate',
    tag: 'Templates',
    summary: 'Save a template',
    about: 'Saves settings under a hash that rentals name. The same settings twice are one template.',
    operation: 'templates.save',
    body: templateBody,
    takesIdempotencyKey: true,
    notIdempotent: true,
    result: z.object({
      success: boolean('Whether it is a new one; false for one that was there already.'),
      msg: text('What was done, for people.'),
      template: templateRowSchema.describe('The template.'),
    }),
    failures: [duplicateTemplate, ...idempotencyFailures],
    answer: async ({ services, actor, body, idempotencyKey }) => {
      const { name = '', public: isPublic = false, launch, ...rest } = parseTemplateBody(body)
      const { host = '', username = '', password = '' } = launch.registry ?? {}
      const wish = { name, public: isPublic, launch: { ...launch, registry: { host, username, password } }, ...rest }
      const keeping = services.templates.findOrCreate(actor, { wish, idempotencyKey })
      const { template, existed } = await rewordTemplateErrors(keeping, () => undefined)
      const words = existed ? 'Existing Template Found:' : 'Template Created Successfully! New Template ID:'
      return { success: !existed, msg: `${words} ${template.id}`, template: templateRow(actor, template) }
    },
  }),
  ...templateUpdateRoutes,
  route({
    method: 'DELETE',
    path: templatePath,
    operationId: 'deleteTemplate',
    tag: 'Templates',
    summary: 'Delete a template',
    about: 'What was rented with it stays as it is. It is named by its id or by its hash.',
    operation: 'templates.delete',
    body: z.object({
      template_id: z.int().min(0).optional().describe('Its id.'),
      hash_id: text('Its hash.').optional(),
    }),
    result: messageResult,
    failures: [noSuchTemplate],
    answer: async ({ services, actor, body: { template_id: id, hash_id: hash } }) => {
      if (id === undefined && !hash) throw new RestFailure(400, 'invalid_args', 'Invalid Template ID or User ID')
      const deleting =
        id === undefined
          ? services.templates.deleteByHash(actor, hash ?? '')
          : services.templates.delete(actor, id).then(() => id)
      const deleted = await rewordTemplateErrors(deleting, ({ code }) =>
        code === 'NOT_FOUND' ? noSuchTemplate : undefined,
      )
      return { success: true as const, msg: `Template ${deleted} Deleted Successfully` }
    },
  }),
]
