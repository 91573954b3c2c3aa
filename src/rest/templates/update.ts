// Changes parts of a template. Each API version has its own wording.

import { z } from 'zod'
import type { Actor } from '../../domain/actor.ts'
import { invalidInput } from '../../domain/errors.ts'
import type { Services } from '../../services/services.ts'
import { documentedFailureOf } from '../error-codes.ts'
import { type DocumentedFailure, type Route, route } from '../route.ts'
import { text } from '../values.ts'
import { templateUpdateBody } from './body.ts'
import { parseTemplateBody, rewordTemplateErrors } from './input.ts'
import { templateRow, templateRowSelect } from './present.ts'
import { templateRowSchema } from './row.ts'

export const templatePath = '/api/v0/template/'
export const duplicateTemplate: DocumentedFailure = documentedFailureOf(
  'CONFLICT',
  'Another template of the account has the same settings.',
)
const noSuchHash: DocumentedFailure = {
  status: 400,
  error: 'not_found',
  when: 'Unable to Update Template. None found for given Hash ID.',
}
const noSuchTemplateV1: DocumentedFailure = {
  status: 404,
  error: 'invalid_template',
  when: 'error 404: Template not found',
}

const example = {
  body: { hash_id: 'fd4a4c258d62396bac970d18d3f31e04', name: 'trainer 2' },
  answer: { msg: 'Template 42 Updated Successfully' },
}
const updatedResult = z.object({
  success: z.literal(true).describe('Always true.'),
  hash_id: text('New hash of the template.'),
  msg: text('What was done, as a sentence.'),
  template: templateRowSchema.describe('The changed template.'),
})

type Caller = { services: Services; actor: Actor }

async function updateTemplate(
  { services, actor }: Caller,
  body: z.output<typeof templateUpdateBody>,
  missing: (hash: string) => DocumentedFailure,
) {
  const hash = body.hash_id || body.template?.hash_id
  if (!hash) throw invalidInput([{ path: 'hash_id', message: 'is required.' }])
  const changing = services.templates.updateByHash(actor, hash, parseTemplateBody(body), templateRowSelect(actor))
  return await rewordTemplateErrors(changing, ({ code }) => (code === 'NOT_FOUND' ? missing(hash) : undefined))
}

export const templateUpdateRoutes: Route[] = [
  route({
    method: 'PUT',
    path: templatePath,
    operationId: 'updateTemplate',
    tag: 'Templates',
    summary: 'Change a template',
    about: 'Changes a template. Absent fields stay as they are. The template keeps its id and gets a new hash.',
    operation: 'templates.save',
    body: templateUpdateBody,
    notIdempotent: true,
    example,
    result: updatedResult,
    failures: [noSuchHash, duplicateTemplate],
    answer: async ({ body, ...caller }) => {
      const missing = (hash: string) => ({
        ...noSuchHash,
        when: `Unable to Update Template. None found for given Hash ID: ${hash.slice(0, 64).toWellFormed()}`,
      })
      const { template } = await updateTemplate(caller, body, missing)
      const msg = `Template ${template.id} Updated Successfully`
      return { success: true as const, hash_id: template.hashId, msg, template: templateRow(caller.actor, template) }
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v1/template/',
    operationId: 'updateTemplateVersion',
    tag: 'Templates',
    summary: 'Change a template (v1)',
    about: 'Changes a template as v0 does. The message says whether anything changed.',
    operation: 'templates.save',
    body: templateUpdateBody,
    notIdempotent: true,
    example,
    result: updatedResult,
    failures: [noSuchTemplateV1, duplicateTemplate],
    answer: async ({ body, ...caller }) => {
      const { template, changed } = await updateTemplate(caller, body, () => noSuchTemplateV1)
      const msg = changed ? `Template ${template.id} Updated Successfully` : `No Edits made for template ${template.id}`
      return { success: true as const, hash_id: template.hashId, msg, template: templateRow(caller.actor, template) }
    },
  }),
]
