import { z } from 'zod'
import { renameIssuePaths } from '../../domain/errors.ts'
import { maxLogLines } from '../../domain/instances/containers.ts'
import { maxResults, maxResultsBytes } from '../../domain/instances/results.ts'
import { documentedFailureOf } from '../error-codes.ts'
import { type Route, route } from '../route.ts'
import { pathId, text } from '../values.ts'
import { noSuchInstance } from './responses.ts'

const params = z.object({ id: pathId('ID of the instance.') })
const resultsPath = '/api/v0/results/'

const resultLinkFields = {
  success: z.literal(true).describe('Always true.'),
  result_url: text(
    `URL of the text, valid for ten minutes, or until the account has requested ${maxResults} other texts or ${maxResultsBytes / 1e6} MB of them. It needs no key, so keep it secret.`,
  ),
  msg: text('Message that the text is at result_url.'),
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
    .describe(`Number of lines to read from the end of the log; ${maxLogLines} by default and at most.`),
  filter: text('Return only lines that contain this text.').optional(),
  daemon_logs: z
    .union([z.boolean(), trueOrFalse])
    .optional()
    .describe('Return only messages of the machine about the container, without its output.'),
})

export const resultRoutes: Route[] = [
  route({
    method: 'PUT',
    path: '/api/v0/instances/request_logs/{id}/',
    operationId: 'requestLogs',
    tag: 'Instances',
    summary: 'Request the log of an instance',
    about: 'Reads the last lines of the log, and answers with a link to them.',
    operation: 'instances.logs',
    params,
    body: logsBody,
    example: { body: { tail: 100, filter: 'error' }, answer: { msg: 'The log is at result_url.' } },
    result: z.object(resultLinkFields),
    failures: [noSuchInstance],
    answer: async ({ services, actor, params: { id }, body, origin }) => {
      const { tail = maxLogLines, filter, daemon_logs } = body
      const query = { tail: Math.min(tail, maxLogLines), containing: filter, fromMachine: daemon_logs }
      const token = await services.results
        .saveLogs(actor, id, query)
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
    about:
      'Runs a command in the container, which must be running. Waits until the command ends, and answers with a link to its output.',
    operation: 'instances.execute',
    params,
    body: z.object({ command: text('Command line.') }),
    notIdempotent: true,
    example: { body: { command: 'nvidia-smi' }, answer: { msg: 'The output is at result_url.' } },
    result: z.object({
      ...resultLinkFields,
      writeable_path: text('Path that clients remove from the output; always "".'),
    }),
    failures: [noSuchInstance, documentedFailureOf('INVALID_STATE', 'The container is not running.')],
    answer: async ({ services, actor, params: { id }, body: { command }, origin }) => {
      const token = await services.results.saveOutput(actor, id, command)
      const msg = 'The output is at result_url.'
      return { success: true as const, writeable_path: '', result_url: resultUrlOf(origin, token), msg }
    },
  }),
  route({
    method: 'GET',
    path: resultsPath,
    operationId: 'getResult',
    tag: 'Instances',
    summary: 'Read a result',
    about: 'Returns the text of a result_url. Needs no key.',
    open: true,
    // The token is not in the path, since paths are logged.
    query: z.object({ token: text('Token from the result_url.') }),
    produces: 'text/plain',
    example: { query: { token: '5f2b9c…' }, answer: 'first line of the log\nsecond line' },
    result: text('The text.'),
    failures: [documentedFailureOf('NOT_FOUND', 'The link is invalid or has expired.')],
    answer: async ({ services, query: { token } }) => await services.results.read(token),
  }),
]

function resultUrlOf(origin: string, token: string): string {
  return `${origin}${resultsPath}?token=${token}`
}
