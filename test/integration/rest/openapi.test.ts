import { gunzipSync } from 'node:zlib'
import core, { type RulesetDefinition } from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { operationCategories } from '../../../src/domain/accounts/permissions/permissions.ts'
import { jsonResponse } from '../../../src/http/json.ts'
import { failureBody } from '../../../src/rest/documented-failures.ts'
import { openapiDocument } from '../../../src/rest/openapi/openapi.ts'
import { route } from '../../../src/rest/route.ts'
import { routes } from '../../../src/rest/routes.ts'
import { alwaysNull, pathId, text } from '../../../src/rest/values.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { requireDocumented } from '../../support/rest/require-documented.ts'

type OpenApiOperation = {
  operationId: string
  parameters?: { name: string; description: string }[]
  description: string
  security?: unknown
  responses: Record<string, unknown>
}
type OpenApiDocument = {
  openapi: string
  info: { version: string }
  paths: Record<string, Record<string, OpenApiOperation>>
  components: { schemas: Record<string, unknown> }
}

let app: TestApp
let document: OpenApiDocument

beforeAll(async () => {
  app = await startApp()
  document = (await app.rest(undefined, 'GET', '/openapi.json')).body
})

afterAll(() => app.close())

it.each(['openapi.json', 'docs/'])('compresses %s, and answers 304 to an up-to-date client', async name => {
  const ask = (headers: Record<string, string>) =>
    app.fetch(new Request(`http://berth.test/api/v0/${name}`, { headers }))
  const whole = await ask({})
  const packed = await ask({ 'accept-encoding': 'gzip' })
  const [text, bytes] = [await whole.text(), Buffer.from(await packed.arrayBuffer())]
  expect(packed.headers.get('content-encoding')).toBe('gzip')
  expect(gunzipSync(bytes).toString()).toBe(text)
  expect(bytes.length).toBeLessThan(text.length / 5)
  expect(whole.headers.get('cache-control')).toBe('public, no-cache')
  const known = await ask({ 'if-none-match': whole.headers.get('etag') ?? '' })
  expect([known.status, await known.text()]).toEqual([304, ''])
})

it('serves the document without a key, with and without a trailing slash', async () => {
  const { status, headers, body } = await app.rest(undefined, 'GET', '/openapi.json/')
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
  expect(body).toEqual(document)
  expect(document).toMatchObject({ openapi: expect.stringMatching(/^3\.1\.\d$/), info: { version: '1.0.0' } })
})

/** The problems that an OpenAPI linter finds. */
async function lintDocument(document: object): Promise<string[]> {
  const spectral = new core.Spectral()
  const rules = {
    // The paths of this interface end in a slash.
    'path-keys-no-trailing-slash': 'off',
    // The contact would be the operator, whom the gateway does not know.
    'info-contact': 'off',
  } as const
  spectral.setRuleset({ extends: [[rulesets.oas as RulesetDefinition, 'all']], rules })
  const problems = await spectral.run(JSON.parse(JSON.stringify(document)))
  return problems.map(({ code, path, message }) => `${code} at ${path.join('.')}: ${message}`)
}

it('serves a document without linter problems', async () => {
  expect(await lintDocument(document)).toEqual([])
})

it('documents every route and nothing else', () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`),
  )
  expect(operations.toSorted()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).toSorted())
})

it('documents the permission that each operation needs', () => {
  for (const { method, path, operation, open } of routes) {
    const described = document.paths[path]?.[method.toLowerCase()]
    expect(described?.security).toEqual(open ? [] : undefined)
    if (operation) expect(described?.description).toContain(`needs ${operationCategories[operation]} (${operation})`)
    expect(Object.keys(described?.responses ?? {})).toEqual(
      expect.arrayContaining(open ? ['200'] : ['200', '401', '403']),
    )
  }
})

it('says how many results a list of bills returns at most', () => {
  const most = Object.entries(document.paths).flatMap(([path, { get }]) => {
    const limit = get?.parameters?.find(({ name }) => name === 'limit')
    const found = /from 1 to (\d+)/.exec(limit?.description ?? '')
    return found ? [[path, Number(found[1])]] : []
  })
  expect(Object.fromEntries(most)).toEqual({ '/api/v0/charges/': 500, '/api/v1/invoices/': 100 })
})

it('describes every parameter and every member of every schema', () => {
  const undescribed = listMembers(document, '').filter(({ member }) => !member['description'] && !member['$ref'])
  expect(undescribed.map(({ at }) => at)).toEqual([])
})

it('lists the schemas that operations share', () => {
  expect(Object.keys(document.components.schemas)).toEqual(
    expect.arrayContaining(['Offer', 'OfferSearch', 'Account', 'Failure']),
  )
})

it('has no schemas outside components', () => {
  expect(JSON.stringify(document).includes('"$defs"')).toBe(false)
})

it('prints the schemas and failures of a route', async () => {
  const part = route({
    method: 'PUT',
    path: '/api/v0/things/{id}/',
    operationId: 'changeThing',
    tag: 'Interface',
    summary: 'Change a thing',
    about: 'Changes a thing.',
    operation: 'offers.search',
    params: z.object({ id: pathId('Id of the thing.') }),
    query: z.object({ force: text('Whether to force the change.').optional() }),
    body: z.object({ label: text('Name of the thing.') }),
    result: z.object({ success: z.literal(true).describe('Always true.') }),
    failures: [
      { status: 400, error: 'insufficient_credit', when: 'You lack credit.' },
      {
        status: 404,
        error: 'no_such_thing',
        when: 'The thing is gone.',
        body: failureBody.extend({ things: alwaysNull('Always null.') }),
      },
    ],
    answer: async () => ({ success: true as const }),
  })
  const made = openapiDocument([part])
  expect(await lintDocument(openapiDocument([...routes, part]))).toEqual([])
  expect(made.paths['/api/v0/things/{id}/'].put).toMatchObject({
    parameters: [
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'Id of the thing.',
        schema: { type: 'integer', format: 'int64' },
      },
      {
        name: 'force',
        in: 'query',
        required: false,
        description: 'Whether to force the change.',
        schema: { type: 'string' },
      },
    ],
    requestBody: { required: true, content: { 'application/json': { schema: { required: ['label'] } } } },
    responses: {
      400: {
        description: expect.stringMatching(/^insufficient_credit: You lack credit\.\n\ninvalid_args: /),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } },
      },
      404: { content: { 'application/json': { schema: { required: ['success', 'error', 'msg', 'things'] } } } },
      403: { $ref: '#/components/responses/Forbidden' },
    },
  })
})

describe('requireDocumented', () => {
  const failure = { success: false, error: 'auth_error', msg: '' }
  const named = { id: 1, email: '', username: '', fullname: '', ssh_key: '', sid: '', email_verified: false }
  const money = { credit: 0, balance: 0, balance_threshold: 0, balance_threshold_enabled: false, api_key: null }
  const account = { ...named, ...money, can_pay: true, has_billing: true }

  it.each([
    ['accepts a complete answer', 200, account, true],
    ['refuses an additional field', 200, { ...account, admin: true }, false],
    ['refuses a missing field', 200, { id: 1 }, false],
    ['refuses a field of another type', 200, { ...account, id: '1' }, false],
    ['accepts a documented failure', 401, failure, true],
    ['refuses an undocumented error code', 401, { ...failure, error: 'no' }, false],
    ['refuses a failure without msg', 401, { success: false, error: 'auth_error' }, false],
    ['refuses an undocumented status', 402, failure, false],
  ])('%s', async (_what, status, body, fine) => {
    const answering = requireDocumented(async () => jsonResponse(status, body))(
      new Request('http://berth.test/api/v0/users/current'),
    )
    expect(
      await answering.then(
        () => true,
        () => false,
      ),
    ).toBe(fine)
  })
})

type Member = { at: string; member: Record<string, unknown> }

/** Every entry of every "properties" and "parameters", at any depth. */
function listMembers(value: unknown, at: string): Member[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const members = ['properties', 'parameters'].includes(key) ? Object.entries(inner) : []
    const own = members.map(([name, member]) => ({ at: `${at}/${key}/${name}`, member: member as Member['member'] }))
    return [...own, ...listMembers(inner, `${at}/${key}`)]
  })
}
