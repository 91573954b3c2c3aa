import type { z } from 'zod'
import { operationCategories } from '../../domain/accounts/permissions/permissions.ts'
import { documentedFailuresOf, failureBody, sharedFailures } from '../documented-failures.ts'
import { type DocumentedFailure, type Route, tags } from '../route.ts'
import { createSchemaPrinter, type JsonSchema } from './schemas.ts'

type Print = ReturnType<typeof createSchemaPrinter>['print']

/** The OpenAPI document of these routes. */
export function openapiDocument(routes: Route[]) {
  const { print, components: schemas } = createSchemaPrinter()
  const paths = [...Map.groupBy(routes, ({ path }) => path)].map(([path, atPath]) => {
    const methods = atPath.map(route => [route.method.toLowerCase(), operationOf(route, print)])
    return [path, Object.fromEntries(methods)]
  })
  const responses = [...Map.groupBy(Object.entries(sharedFailures), ([, { status }]) => status).values()].map(group => {
    const [name] = group[0] as (typeof group)[number]
    return [
      name,
      failureResponseOf(
        group.map(([, failure]) => failure),
        print,
      ),
    ]
  })
  return {
    openapi: '3.1.1',
    info: {
      title: 'Berth',
      version: '1.0.0',
      description: 'Rents GPU machines. Every path works with and without its trailing slash. Every failure is JSON.',
      license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
    },
    servers: [{ url: '/', description: 'This gateway.' }],
    security: [{ bearer: [] }, { api_key: [] }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(paths),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key.' },
        api_key: {
          type: 'apiKey',
          in: 'query',
          name: 'api_key',
          description:
            'An API key, for clients that cannot send the header. Prefer the header, since proxies log URLs.',
        },
      },
      responses: Object.fromEntries(responses),
      schemas,
    },
  }
}

function operationOf(route: Route, print: Print) {
  const { operationId, tag, summary, produces = 'application/json' } = route
  const body = route.body ?? route.documentedBody
  const parameters = [
    ...parametersOf('path', route.params, print),
    ...parametersOf('query', route.query, print),
    ...(route.takesIdempotencyKey ? [idempotencyKey] : []),
  ]
  return {
    operationId,
    tags: [tag],
    summary,
    description: descriptionOf(route),
    ...(route.open && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: requestBodyOf(body, print) }),
    responses: {
      200: { description: 'Success.', content: { [produces]: { schema: print(route.result) } } },
      ...failureResponses(documentedFailuresOf(route), print),
    },
  }
}

/** What a route does, and the permission that it needs. */
export function descriptionOf({ about, operation, publicSearch }: Route): string {
  const who = operation ? ` A scoped key needs ${operationCategories[operation]} (${operation}).` : ''
  return `${about}${who}${publicSearch ? ' Needs no key, unless the operator sets PUBLIC_SEARCH to false.' : ''}`
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A string of your choice that identifies this request, at most 255 characters. Within 24 hours, the same request with the same key does nothing and answers with what the first request created. It is refused if that was deleted since.',
  schema: { type: 'string', maxLength: 255 },
}

function requestBodyOf(schema: z.ZodType, print: Print) {
  // An empty body means {}. A client may omit the body if the schema accepts {}.
  const required = !schema.safeParse({}).success
  return { required, content: { 'application/json': { schema: print(schema) } } }
}

function parametersOf(place: 'path' | 'query', schema: Route['params'], print: Print) {
  const { properties = {}, required = [] }: JsonSchema = schema ? print(schema) : {}
  return Object.entries(properties).map(([name, { description, ...type }]) => ({
    name,
    in: place,
    required: required.includes(name),
    description,
    schema: type,
  }))
}

function failureResponses(failures: DocumentedFailure[], print: Print) {
  const byStatus = Map.groupBy(failures, ({ status }) => status)
  return Object.fromEntries(
    [...byStatus].map(([status, together]) => {
      const shared = Object.entries(sharedFailures).find(([, failure]) => failure === together[0])
      return [status, shared ? { $ref: `#/components/responses/${shared[0]}` } : failureResponseOf(together, print)]
    }),
  )
}

/** Describes the failures of one status as one response. Their codes tell them apart. */
function failureResponseOf(failures: DocumentedFailure[], print: Print) {
  const examples = failures
    .filter(({ body }) => !body)
    .map(({ error, when }) => [error, { value: { success: false, error, msg: when } }])
  const bodies = [...new Set(failures.map(({ body = failureBody }) => body))].map(print)
  return {
    description: failures.map(({ error, when }) => `${error}: ${when}`).join('\n\n'),
    content: {
      'application/json': {
        schema: bodies.length === 1 ? bodies[0] : { anyOf: bodies },
        examples: Object.fromEntries(examples),
      },
    },
  }
}
