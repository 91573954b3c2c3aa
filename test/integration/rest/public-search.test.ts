// Search without a key, where the operator lets everybody search.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'

let closed: TestApp
let open: TestApp
let key: string

beforeAll(async () => {
  closed = await startApp()
  open = await startApp({ beside: closed, publicSearch: true })
  key = await closed.newKey()
  await listMachines(closed.operations, [{}])
})

afterAll(async () => {
  await open.close()
  await closed.close()
})

const searches: [method: string, path: string, body: object | undefined][] = [
  ['POST', '/bundles/', { rentable: { eq: true }, rented: { eq: 'false' }, limit: 3000 }],
  ['GET', `/bundles?q=${encodeURIComponent('{"external": {"eq": "false"}}')}`, undefined],
  ['PUT', '/search/asks/', { select_cols: ['*'], q: { num_gpus: { gte: '1' } } }],
  ['POST', '/volumes/search/', { limit: 3000 }],
]

describe('a search without a key', () => {
  it.each(searches)('by %s %s is answered as one with a key', async (method, path, body) => {
    const [mine, everybodys] = [
      await open.rest(key, method, path, body),
      await open.rest(undefined, method, path, body),
    ]
    expect(everybodys.status).toBe(200)
    expect(everybodys.body.offers.length).toBeGreaterThan(0)
    expect(everybodys.body).toEqual(mine.body)
  })

  it.each(searches)('by %s %s is refused where nobody opened it', async (method, path, body) => {
    const { status, body: failure } = await closed.rest(undefined, method, path, body)
    expect([status, failure.error]).toEqual([401, 'auth_error'])
  })

  it.each(searches)('by %s %s with a key that is none is refused', async (method, path, body) => {
    expect((await open.rest('nonsense', method, path, body)).status).toBe(401)
    const inUrl = `${path}${path.includes('?') ? '&' : '?'}api_key=nonsense`
    expect((await open.rest(undefined, method, inUrl, body)).status).toBe(401)
  })

  it('opens nothing else', async () => {
    for (const [method, path] of [
      ['GET', '/instances/'],
      ['GET', '/users/current/'],
      ['PUT', '/asks/1/'],
    ] as const)
      expect((await open.rest(undefined, method, path)).status).toBe(401)
    expect((await open.graphql(undefined, '{ offers { nodes { id } } }')).errors?.[0]?.extensions['code']).toBe(
      'UNAUTHENTICATED',
    )
  })
})
