import { z } from 'zod'
import { renameIssuePaths } from '../../domain/errors.ts'
import { maxLogLines } from '../../domain/instances/containers.ts'
import { maxResults, maxResultsBytes } from '../../domain/instances/results.ts'
import { failureOf } from '../error-codes.ts'
import { type Route, route } from '../route.ts'
import { pathId, text } from '../values.ts'
import { noSuchInstance } from './responses.ts'

const params = z.object({ id: pathId('The instance.') })
const resultsPath = '/api/v0/results/'

const resultLinkFields = {
  success: z.literal(true).describe('Always true.'),
  result_url: text(
    `Where the text is, for ten minutes, or until the account has asked for ${maxResults} others or ${maxResultsBytes / 1e6} MB. It needs no key, so keep it to yourself.`,
  ),
  msg: text('That it is there.'),
}

const digits = z.string().regex(/^\d{1,9}$/)
const trueOrFalse = z
  .string()
  .regex(/^(true|false)$/i)
  .transform(word => word.toLowerCase() === 'true')
const logsBody = z.object({
  tail: z
    .union([z.int(), digits.transform(Number)])
    .optional()
    .describe(`How many of the last lines are looked at: ${maxLogLines} when absent, and no more when it is more.`),
  filter: text('Only lines that have this in them.').optional(),
  daemon_logs: z
    .union([z.boolean(), trueOrFalse])
    .optional()
    .describe('Only what the machine tells of the container, and nothing that the container prints.'),
})

export const resultRoutes: Route[] = [
  route({
    method: 'PUT',
    path: '/api/v0/instances/request_logs/{id}/',
    operationId: 'requestLogs',
    tag: 'Instances',
    summary: 'Ask for the log of an instance',
    about: 'Reads what it printed last, and answers with a link to that.',
    operation: 'instances.logs',
    params,
    body: logsBody,
    result: z.object(resultLinkFields),
    failures: [noSuchInstance],
    answer: async ({ services, actor, params: { id }, body, origin }) => {
      const { tail = maxLogLines, filter, daemon_logs } = body
      const wish = { tail: Math.min(tail, maxLogLines), containing: filter, fromMachine: daemon_logs }
      const token = await services.results
        .saveLogs(actor, id, wish)
        .catch((error: unknown) => Promise.reject(renameIssuePaths(error, { containing: 'filter' })))
      return { success: true as const, result_url: resultUrlOf(origin, token), msg: 'The log is at result_url.' }
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v0/instances/command/{id}/',
    operationId: 'executeCommand',
    tag: 'Instances',
    summary: 'Run a command in an instance',
    about: 'Runs it in the container, which must be running, waits for its end, and answers with a link to its output.',
    operation: 'instances.execute',
    params,
    body: z.object({ command: text('The command line.') }),
    notIdempotent: true,
    result: z.object({
      ...resultLinkFields,
      writeable_path: text('A path that clients take out of the output: always "".'),
    }),
    failures: [noSuchInstance, failureOf('INVALID_STATE', 'Its container does not run.')],
    answer: async ({ services, actor, params: { id }, body: { command }, origin }) => {
      const token = await services.results.saveOutput(actor, id, command)
      const msg = 'What it printed is at result_url.'
      return { success: true as const, writeable_path: '', result_url: resultUrlOf(origin, token), msg }
    },
  }),
  route({
    method: 'GET',
    path: resultsPath,
    operationId: 'getResult',
    tag: 'Instances',
    summary: 'Read a result',
    about: 'The text that a result_url leads to. It needs no key.',
    open: true,
    // Not in the path, which is logged.
    query: z.object({ token: text('From the result_url.') }),
    produces: 'text/plain',
    result: text('The text.'),
    failures: [failureOf('NOT_FOUND', 'There is nothing under this link, or not any more.')],
    answer: async ({ services, query: { token } }) => await services.results.read(token),
  }),
]

function resultUrlOf(origin: string, token: string): string {
  return `${origin}${resultsPath}?token=${token}`
}
