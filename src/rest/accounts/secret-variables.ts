import { z } from 'zod'
import { maxSecretVariables, secretMask } from '../../domain/accounts/secret-variables.ts'
import { DomainError, invalidInput, renameIssuePaths } from '../../domain/errors.ts'
import { messageResult } from '../results.ts'
import { rewordRefusals } from '../rewording.ts'
import { type DocumentedFailure, type Route, route } from '../route.ts'
import { text } from '../values.ts'

const path = '/api/v0/secrets/'

const variable = z.object({
  key: text('Name of the variable; stored in upper case.').optional(),
  value: z
    .union([z.string(), z.number(), z.boolean()])
    .optional()
    .describe('Value of the variable; stored encrypted and never shown.'),
})
type VariableInput = z.output<typeof variable>

const noSuchVariable: DocumentedFailure = { status: 400, error: 'not_found', when: 'Environment variable not found' }
const tooManyVariables: DocumentedFailure = {
  status: 400,
  error: 'limit_reached',
  when: `User has reached the limit of ${maxSecretVariables} environment variables.`,
}

function restFailureOf({ code }: DomainError): [number, string, string] | undefined {
  const failure = code === 'NOT_FOUND' ? noSuchVariable : code === 'CONFLICT' ? tooManyVariables : undefined
  return failure && [failure.status, failure.error, failure.when]
}

async function withRestFailures<Result>(change: Promise<Result>): Promise<Result> {
  return await rewordRefusals(
    change.catch((error: unknown) => Promise.reject(renameIssuePaths(error, { env: 'key' }))),
    restFailureOf,
  )
}

/** REST clients expect names in upper case. */
function parseVariable({ key, value }: VariableInput): { name: string; value: string } {
  if (!key || value === undefined) {
    throw invalidInput([{ path: 'key', message: "Both 'key' and 'value' are required." }])
  }
  return { name: key.toUpperCase(), value: String(value) }
}

export const secretVariableRoutes: Route[] = [
  route({
    method: 'GET',
    path,
    operationId: 'listSecrets',
    tag: 'Keys',
    summary: 'List the secrets',
    about:
      'Lists the environment variables that every new instance of the account gets. Those in a request or a template take precedence. Values are masked.',
    operation: 'secretVariables.list',
    result: z.object({
      success: z.literal(true).describe('Always true.'),
      secrets: z
        .record(z.string(), z.literal(secretMask))
        .describe('Names of the variables, each with a mask for its value.'),
    }),
    answer: async ({ services, actor }) => {
      const variables = await services.secretVariables.list(actor, { name: true })
      const secrets = Object.fromEntries(variables.map(({ name }) => [name, secretMask] as const))
      return { success: true as const, secrets }
    },
  }),
  route({
    method: 'POST',
    path,
    operationId: 'addSecrets',
    tag: 'Keys',
    summary: 'Set secrets',
    about: 'Sets one or more environment variables and replaces those of the same name. Sets all of them or none.',
    operation: 'secretVariables.set',
    body: variable.extend({
      env_vars: z
        .array(variable)
        .optional()
        .describe('Several variables. A `key` and `value` given alongside them are set, too.'),
    }),
    example: {
      body: { key: 'HF_TOKEN', value: 'hf_secret' },
      answer: { msg: 'Environment variables processed successfully' },
    },
    result: messageResult,
    failures: [tooManyVariables],
    answer: async ({ services, actor, body: { env_vars: many, ...one } }) => {
      const sent = many && one.key === undefined && one.value === undefined ? many : [...(many ?? []), one]
      await withRestFailures(services.secretVariables.update(actor, sent.map(parseVariable), { name: true }))
      return { success: true as const, msg: 'Environment variables processed successfully' }
    },
  }),
  route({
    method: 'PUT',
    path,
    operationId: 'updateSecret',
    tag: 'Keys',
    summary: 'Change a secret',
    about: 'Changes an existing environment variable. Existing instances keep the old value.',
    operation: 'secretVariables.set',
    body: variable,
    example: {
      body: { key: 'HF_TOKEN', value: 'hf_other' },
      answer: { msg: 'Environment variable updated successfully' },
    },
    result: messageResult,
    failures: [noSuchVariable],
    answer: async ({ services, actor, body }) => {
      await withRestFailures(
        services.secretVariables.update(actor, [parseVariable(body)], { name: true }, { known: true }),
      )
      return { success: true as const, msg: 'Environment variable updated successfully' }
    },
  }),
  route({
    method: 'DELETE',
    path,
    operationId: 'deleteSecret',
    tag: 'Keys',
    summary: 'Delete a secret',
    about: 'Deletes an environment variable. Existing instances keep the variable.',
    operation: 'secretVariables.delete',
    body: z.object({ key: text('Name of the variable, as listed or as it was set.') }),
    example: { body: { key: 'HF_TOKEN' }, answer: { msg: 'Environment variable deleted successfully' } },
    result: messageResult,
    failures: [noSuchVariable],
    answer: async ({ services, actor, body: { key } }) => {
      const deleteNamed = (name: string) => services.secretVariables.delete(actor, [name])
      const deleting = deleteNamed(key).catch((error: unknown) => {
        const isMissing = error instanceof DomainError && error.code === 'NOT_FOUND'
        return isMissing ? deleteNamed(key.toUpperCase()) : Promise.reject(error)
      })
      await withRestFailures(deleting)
      return { success: true as const, msg: 'Environment variable deleted successfully' }
    },
  }),
]
