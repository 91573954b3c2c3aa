import { z } from 'zod'
import { idempotencyFailures } from '../documented-failures.ts'
import { restErrors } from '../error-codes.ts'
import { RestFailure } from '../errors.ts'
import { messageResult } from '../results.ts'
import { type DocumentedFailure, type Route, route } from '../route.ts'
import { boolean, text } from '../values.ts'
import { templateBody } from './body.ts'
import { parseTemplateBody, rewordTemplateErrors } from './input.ts'
import { templateRow, templateRowSelect } from './present.ts'
import { templateRowSchema } from './row.ts'
import { duplicateTemplate, templatePath, templateUpdateRoutes } from './update.ts'

const noSuchTemplate: DocumentedFailure = {
  ...restErrors.NOT_FOUND,
  when: 'The template does not exist or belongs to another account.',
}

export const templateChangeRoutes: Route[] = [
  route({
    method: 'POST',
    path: templatePath,
    operationId: 'createTemplate',
    tag: 'Templates',
    summary: 'Save a template',
    about:
      'Saves settings under a hash that rentals can name. If the account already has a template with equal settings, returns that template.',
    operation: 'templates.save',
    body: templateBody,
    takesIdempotencyKey: true,
    notIdempotent: true,
    example: {
      body: {
        name: 'trainer',
        image: 'pytorch/pytorch',
        env: '-e EPOCHS=3',
        runtype: 'ssh_direct',
        recommended_disk_space: 20,
      },
      answer: { msg: 'Template Created Successfully! New Template ID: 42' },
    },
    result: z.object({
      success: boolean('Whether the template is new; false if an equal one existed.'),
      msg: text('What was done, as a sentence.'),
      template: templateRowSchema.describe('The saved template.'),
    }),
    failures: [duplicateTemplate, ...idempotencyFailures],
    answer: async ({ services, actor, body, idempotencyKey }) => {
      const { name = '', public: isPublic = false, launch, ...rest } = parseTemplateBody(body)
      const { host = '', username = '', password = '' } = launch.registry ?? {}
      const input = { name, public: isPublic, launch: { ...launch, registry: { host, username, password } }, ...rest }
      const saving = services.templates.findOrCreate(actor, { input, idempotencyKey }, templateRowSelect(actor))
      const { template, existed } = await rewordTemplateErrors(saving, () => undefined)
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
    about: 'Deletes a template, named by its id or hash. Instances that were rented with it stay as they are.',
    operation: 'templates.delete',
    body: z.object({
      template_id: z.int().min(0).optional().describe('ID of the template.'),
      hash_id: text('Hash of the template.').optional(),
    }),
    example: { body: { template_id: 42 }, answer: { msg: 'Template 42 Deleted Successfully' } },
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
