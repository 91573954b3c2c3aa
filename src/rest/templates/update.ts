// Templates are changed in parts, in the words of either version.

import { z } from 'zod'
import type { Actor } from '../../domain/actor.ts'
import { invalidInput } from '../../domain/errors.ts'
import type { Services } from '../../services/services.ts'
import { failureOf } from '../error-codes.ts'
import { type Failure, type Route, route } from '../route.ts'
import { text } from '../values.ts'
import { templateUpdateBody } from './body.ts'
import { parseTemplateBody, rewordTemplateErrors } from './input.ts'
import { templateRow } from './present.ts'
import { templateRowSchema } from './row.ts'

export const templatePath = '/api/v0/template/'
export const duplicateTemplate: Failure = failureOf('CONFLICT', 'Another template of yours is so already.')
const noSuchHash: Failure = {
  status: 400,
  error: 'not_found',
  when: 'Unable to Update Template. None found for given Hash ID.',
}
const noSuchTemplateV1: Failure = { status: 404, error: 'invalid_template', when: 'error 404: Template not found' }

const updatedResult = z.object({
  success: z.literal(true).describe('Always true.'),
  hash_id: text('Its hash from now on.'),
  msg: text('What was done, for people.'),
  template: templateRowSchema.describe('The template.'),
})

type Caller = { services: Services; actor: Actor }

async function updateTemplate(
  { services, actor }: Caller,
  body: z.output<typeof templateUpdateBody>,
  missing: (hash: string) => Failure,
) {
  const hash = body.hash_id || body.template?.hash_id
  if (!hash) throw invalidInput([{ path: 'hash_id', message: 'is required.' }])
  const changing = services.templates.updateByHash(actor, hash, parseTemplateBody(body))
  return await rewordTemplateErrors(changing, ({ code }) => (code === 'NOT_FOUND' ? missing(hash) : undefined))
}

export const templateUpdateRoutes: Route[] = [
  route({
    method: 'PUT',
    path: templatePath,
    operationId: 'updateTemplate',
    tag: 'Templates',
    summary: 'Change a template',
    about: 'What is not said stays as it is. The template keeps its id, and has another hash then.',
    operation: 'templates.save',
    body: templateUpdateBody,
    notIdempotent: true,
    result: updatedResult,
    failures: [noSuchHash, duplicateTemplate],
    answer: async ({ body, ...asked }) => {
      const missing = (hash: string) => ({
        ...noSuchHash,
        when: `Unable to Update Template. None found for given Hash ID: ${hash.slice(0, 64).toWellFormed()}`,
      })
      const { template } = await updateTemplate(asked, body, missing)
      const msg = `Template ${template.id} Updated Successfully`
      return { success: true as const, hash_id: template.hashId, msg, template: templateRow(asked.actor, template) }
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v1/template/',
    operationId: 'updateTemplateVersion',
    tag: 'Templates',
    summary: 'Change a template, and be told whether it changed',
    about: 'The same as in v0, but for its words.',
    operation: 'templates.save',
    body: templateUpdateBody,
    notIdempotent: true,
    result: updatedResult,
    failures: [noSuchTemplateV1, duplicateTemplate],
    answer: async ({ body, ...asked }) => {
      const { template, changed: isOther } = await updateTemplate(asked, body, () => noSuchTemplateV1)
      const msg = isOther ? `Template ${template.id} Updated Successfully` : `No Edits made for template ${template.id}`
      return { success: true as const, hash_id: template.hashId, msg, template: templateRow(asked.actor, template) }
    },
  }),
]
