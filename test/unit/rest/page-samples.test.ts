import { describe, expect, it } from 'vitest'
import { parseInput } from '../../../src/rest/input.ts'
import { isImplemented } from '../../../src/rest/not-implemented.ts'
import { createSchemaPrinter, type JsonSchema } from '../../../src/rest/openapi/schemas.ts'
import { exampleAnswers } from '../../../src/rest/page/page.ts'
import { printJson, printRequest } from '../../../src/rest/page/requests.ts'
import { createSampler } from '../../../src/rest/page/samples.ts'
import { routes } from '../../../src/rest/routes.ts'

const implemented = routes.filter(isImplemented).map(route => [`${route.method} ${route.path}`, route] as const)

describe('the examples of the documentation', () => {
  const answerOf = exampleAnswers(createSchemaPrinter())

  it.each(implemented)('have a request and an answer that fit %s', (_name, route) => {
    const { result, body, documentedBody, query, example } = route
    expect(result.safeParse(answerOf(route))).toMatchObject({ success: true })
    // A route that reads a body or parameters shows some.
    expect(example?.body !== undefined).toBe(Boolean(body ?? documentedBody))
    if (query && route.method === 'GET' && !['listVolumes'].includes(route.operationId))
      expect(example?.query).toBeDefined()
    const sent = {
      params: {},
      query: new URLSearchParams(example?.query),
      body: (example?.body ?? {}) as Record<string, unknown>,
    }
    const { params: _, ...unnamed } = route
    expect(() => parseInput(unnamed, sent)).not.toThrow()
    if (documentedBody) expect(documentedBody.safeParse(example?.body)).toMatchObject({ success: true })
  })

  it('show a value in each field, unless its description says that it is always empty', () => {
    const { print, components } = createSchemaPrinter()
    for (const [, { result }] of implemented) print(result)
    const sample = createSampler(components)
    const empty = Object.entries(components).flatMap(([name, schema]) => {
      const { properties = {} } = schema as { properties?: Record<string, { description?: string }> }
      const made = sample(schema as JsonSchema) as Record<string, unknown>
      return Object.entries(made)
        .filter(([, value]) => value === '' || value === 0)
        .filter(([field]) => !/always|or ""|else ""|0 if|0 without|to 100/i.test(properties[field]?.description ?? ''))
        .map(([field]) => `${name}.${field}`)
    })
    expect(empty).toEqual([])
  })

  it('are commands for a shell', () => {
    const command = (operationId: string) => {
      const route = routes.find(one => one.operationId === operationId)
      return route && printRequest(route)
    }
    expect(command('listGpuNames')).toBe('curl "$BERTH/api/v0/gpu_names/unique/"')
    expect(command('destroyInstance')).toBe(
      'curl -X DELETE "$BERTH/api/v0/instances/42/" \\\n  -H "Authorization: Bearer $KEY"',
    )
    expect(command('updateInstance')).toBe(
      `curl -X PUT "$BERTH/api/v0/instances/42/" \\
  -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"state": "stopped", "label": "first"}'`,
    )
    expect(command('searchOffersByUrl')).toBe(
      `curl -G "$BERTH/api/v0/bundles/" \\
  -H "Authorization: Bearer $KEY" \\
  --data-urlencode 'q={"gpu_name": "RTX 4090", "limit": 3}'`,
    )
  })
})

it('prints JSON on one line if it is short', () => {
  expect(printJson({ a: [1, 'x  [ y ]'], b: {} })).toBe('{"a": [1, "x  [ y ]"], "b": {}}')
  expect(printJson({ a: 'x'.repeat(80) })).toBe(`{\n  "a": "${'x'.repeat(80)}"\n}`)
})
