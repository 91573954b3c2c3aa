import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { parseInput } from '../../../src/rest/input.ts'
import { findRoutes } from '../../../src/rest/paths.ts'
import { route } from '../../../src/rest/route.ts'
import { routes as served } from '../../../src/rest/routes.ts'
import { integer, pathId, text } from '../../../src/rest/values.ts'

const makeRoute = (method: 'GET' | 'PUT' | 'DELETE', path: string) =>
  route({
    ...{ method, path, operationId: `${method} ${path}`, tag: 'Offers', summary: '', about: '', open: true },
    result: z.null(),
    answer: async () => null,
  })

const routes = [
  makeRoute('GET', '/things/{id}/'),
  makeRoute('PUT', '/things/{id}/'),
  makeRoute('GET', '/things/all/'),
  makeRoute('GET', '/things/{id}/parts/{part}/'),
  makeRoute('GET', '/document.json'),
]

const matchPath = (pathname: string) => {
  const { routes: found, params } = findRoutes(routes, pathname)
  return { found: found.map(({ operationId }) => operationId), params }
}

describe('a path', () => {
  it.each([
    ['/things/7/', ['GET /things/{id}/', 'PUT /things/{id}/'], { id: '7' }],
    ['/things/7', ['GET /things/{id}/', 'PUT /things/{id}/'], { id: '7' }],
    ['/things/a%2Fb%20c/', ['GET /things/{id}/', 'PUT /things/{id}/'], { id: 'a/b c' }],
    ['/things/%zz/', ['GET /things/{id}/', 'PUT /things/{id}/'], { id: '%zz' }],
    ['/things/7/parts/wheel', ['GET /things/{id}/parts/{part}/'], { id: '7', part: 'wheel' }],
    ['/things/all/', ['GET /things/all/'], {}],
    ['//things///7/', ['GET /things/{id}/', 'PUT /things/{id}/'], { id: '7' }],
    ['/things//all', ['GET /things/all/'], {}],
    ['/things/all/parts/wheel', [], {}],
    ['/document.json', ['GET /document.json'], {}],
    ['/document.json/', ['GET /document.json'], {}],
    ['/things/', [], {}],
    ['/things//', [], {}],
    ['/things/7//', [], {}],
    ['/things/7/parts/', [], {}],
    ['/THINGS/7/', [], {}],
    ['/', [], {}],
  ])('is matched to its routes and parameters: %s', (pathname, found, params) => {
    expect(matchPath(pathname)).toEqual({ found, params })
  })
})

it('finds every route with and without its trailing slash', () => {
  for (const { method, path } of served)
    for (const requested of [path.replace(/\/$/, ''), path.replace(/\/?$/, '/')]) {
      const { routes: found } = findRoutes(served, requested.replaceAll(/\{\w+\}/g, '7'))
      expect(found.filter(one => one.method === method).map(one => one.path)).toEqual([path])
    }
})

describe('a request', () => {
  const schemas = {
    params: z.object({ id: pathId('Id of a thing.') }),
    query: z.object({ limit: z.coerce.number().int().optional().describe('Maximum number of things.') }),
    body: z.object({
      ids: z.array(integer('Id of a thing.')).min(1).max(3).describe('Ids of the things.'),
      state: z.enum(['running', 'stopped']).optional().describe('Desired state.'),
      label: text('Name of the things.').optional(),
    }),
  }
  const read = (id: string, query: string, body: Record<string, unknown>) =>
    parseInput(schemas, { params: { id }, query: new URLSearchParams(query), body })

  it('is parsed by the schemas of its route', () => {
    expect(read('7', 'limit=2', { ids: [1] })).toEqual({ params: { id: 7n }, query: { limit: 2 }, body: { ids: [1] } })
  })

  it('may have null for absent fields, and unknown fields', () => {
    const { query, body } = read('7', 'owner=me&limit=1&limit=2', { ids: [1], state: null, label: null, force: true })
    expect([query, body]).toEqual([{ limit: 1 }, { ids: [1] }])
  })

  it('is passed on unchanged without a schema', () => {
    const sent = { params: {}, query: new URLSearchParams('a=1'), body: { b: 2, c: null } }
    expect(parseInput({}, sent)).toEqual({ params: {}, query: { a: '1' }, body: { b: 2 } })
  })

  it.each(['x', '1.5', '-1', '1e3', '1'.repeat(19), ' 1', ''])('is refused with the id "%s"', id => {
    const issues = [{ path: 'id', message: 'must be a whole number.' }]
    expect(() => read(id, '', { ids: [1] })).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', details: { issues } }),
    )
  })

  it('may have ids that doubles cannot hold', () => {
    expect(read('9'.repeat(18), '', { ids: [1] }).params).toEqual({ id: 999_999_999_999_999_999n })
  })

  it('is refused with all its issues at once', () => {
    const issues = [
      { path: 'id', message: 'must be a whole number.' },
      { path: 'limit', message: 'must be a number.' },
      { path: 'ids.0', message: 'must be a whole number.' },
      { path: 'ids.1', message: 'must be a number.' },
      { path: 'state', message: 'must be one of running, stopped.' },
      { path: 'label', message: 'must be a string.' },
    ]
    expect(() => read('x', 'limit=many', { ids: [1.5, '2'], state: 'gone', label: 7 })).toThrow(
      expect.objectContaining({ details: { issues } }),
    )
  })

  it.each([
    [undefined, 'is required.'],
    [[], 'must have at least 1 entry.'],
    [[1, 2, 3, 4], 'must have at most 3 entries.'],
    [7, 'must be a list.'],
  ])('is refused with %o for a list of one to three entries', (ids, message) => {
    const issues = [{ path: 'ids', message }]
    expect(() => read('7', '', { ids })).toThrow(expect.objectContaining({ details: { issues } }))
  })
})
