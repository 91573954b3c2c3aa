import { z } from 'zod'
import type { Actor } from '../domain/actor.ts'
import { type DomainError, invalidInput, renameIssues } from '../domain/errors.ts'
import type { Services } from '../services/services.ts'
import { RestFailure } from './errors.ts'
import { repeated } from './failures.ts'
import { reworded } from './rewording.ts'
import { type Failure, type Route, route } from './route.ts'
import { told } from './success.ts'
import { readTemplate, templateBody, templateNames } from './templates-input.ts'
import { templateRow } from './templates-present.ts'
import { templateRowSchema } from './templates-row.ts'
import { boolean, text } from './values.ts'

const path = '/api/v0/template/'
const success = z.literal(true).describe('Always true.')
const conflict: Failure = { status: 409, error: 'conflict', when: 'Another template of yours is so already.' }
const noSuchHash: Failure = {
  status: 400,
  error: 'not_found',
  when: 'Unable to Update Template. None found for given Hash ID.',
}
const noSuchVersion: Failure = { status: 404, error: 'invalid_template', when: 'error 404: Template not found' }
const noSuchTemplate: Failure = {
  status: 404,
  error: 'not_found',
  when: 'There is no such template, or it is not yours.',
}

const changeBody = templateBody
  .extend({
    hash_id: text('The template, by its hash before the change.').optional(),
    template: z
      .looseObject({ hash_id: z.string().nullish().describe('The same.') })
      .optional()
      .describe('Another place for hash_id.'),
  })
  .meta({ id: 'TemplateChange', description: 'What of a template is to be another. What is absent stays as it is.' })
const changed = z.object({
  success,
  hash_id: text('Its hash from now on.'),
  msg: text('What was done, for people.'),
  template: templateRowSchema.describe('The template.'),
})

type Asked = { services: Services; actor: Actor }

async function saving<Result>(
  change: Promise<Result>,
  words: (refusal: DomainError) => Failure | undefined,
): Promise<Result> {
  return await reworded(
    change.catch((error: unknown) => Promise.reject(renameIssues(error, templateNames))),
    refusal => {
      const failure = words(refusal)
      return failure && [failure.status, failure.error, failure.when]
    },
  )
}

async function change(
  { services, actor }: Asked,
  body: z.output<typeof changeBody>,
  missing: (hash: string) => Failure,
) {
  const hash = body.hash_id || body.template?.hash_id
  if (!hash) throw invalidInput([{ path: 'hash_id', message: 'is required.' }])
  const changing = services.templates.change(actor, hash, readTemplate(body))
  return await saving(changing, ({ code }) => (code === 'NOT_FOUND' ? missing(hash) : undefined))
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
  route({
    method: 'PUT',
    path,
    operationId: 'updateTemplate',
    tag: 'Templates',
    summary: 'Change a template',
    about: 'What is not said stays as it is. The template keeps its id, and has another hash then.',
    operation: 'templates.save',
    body: changeBody,
    countsTwice: true,
    result: changed,
    failures: [noSuchHash, conflict],
    answer: async ({ body, ...asked }) => {
      const missing = (hash: string) => ({
        ...noSuchHash,
        when: `Unable to Update Template. None found for given Hash ID: ${hash.slice(0, 64).toWellFormed()}`,
      })
      const { template } = await change(asked, body, missing)
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
    body: changeBody,
    countsTwice: true,
    result: changed,
    failures: [noSuchVersion, conflict],
    answer: async ({ body, ...asked }) => {
      const { template, changed: isOther } = await change(asked, body, () => noSuchVersion)
      const msg = isOther ? `Template ${template.id} Updated Successfully` : `No Edits made for template ${template.id}`
      return { success: true as const, hash_id: template.hashId, msg, template: templateRow(asked.actor, template) }
    },
  }),
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
          ? services.templates.deleteByHash(actor, hash as string)
          : services.templates.delete(actor, id).then(() => id)
      const deleted = await saving(deleting, ({ code }) => (code === 'NOT_FOUND' ? noSuchTemplate : undefined))
      return { success: true as const, msg: `Template ${deleted} Deleted Successfully` }
    },
  }),
]
