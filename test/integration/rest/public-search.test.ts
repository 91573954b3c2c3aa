// Searches without a key, with and without PUBLIC_SEARCH.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'

let closedApp: TestApp
let publicApp: TestApp
let key: string

beforeAll(async () => {
  closedApp = await startApp({ publicSearch: false })
  publicApp = await startApp({ sharedApp: closedApp })
  key = await closedApp.newKey()
  await listMachines(closedApp.operations, [{}])
})

afterAll(async () => {
  await publicApp.close()
  await closedApp.close()
})

const searches: [method: string, path: string, body: object | undefined][] = [
  ['POST', '/bundles/', { rentable: { eq: true }, rented: { eq: 'false' }, limit: 3000 }],
  ['GET', `/bundles?q=${encodeURIComponent('{"external": {"eq": "false"}}')}`, undefined],
  ['PUT', '/search/asks/', { select_cols: ['*'], q: { num_gpus: { gte: '1' } } }],
  ['POST', '/volumes/search/', { limit: 3000 }],
]

describe('a search without a valid key', () => {
  it.each(searches)('gets the same answer as with a key: %s %s', async (method, path, body) => {
    const [withKey, withoutKey] = [
      await publicApp.rest(key, method, path, body),
      await publicApp.rest(undefined, method, path, body),
    ]
    expect(withoutKey.status).toBe(200)
    expect(withoutKey.body.offers.length).toBeGreaterThan(0)
    expect(withoutKey.body).toEqual(withKey.body)
  })

  it.each(searches)('is refused if PUBLIC_SEARCH is false: %s %s', async (method, path, body) => {
    const { status, body: failure } = await closedApp.rest(undefined, method, path, body)
    expect([status, failure.error]).toEqual([401, 'auth_error'])
  })

  it.each(searches)('is refused with an invalid key: %s %s', async (method, path, body) => {
    expect((await publicApp.rest('nonsense', method, path, body)).status).toBe(401)
    const inUrl = `${path}${path.includes('?') ? '&' : '?'}api_key=nonsense`
    expect((await publicApp.rest(undefined, method, inUrl, body)).status).toBe(401)
  })

  it('does not open other routes', async () => {
    for (const [method, path] of [
      ['GET', '/instances/'],
      ['GET', '/users/current/'],
      ['PUT', '/asks/1/'],
    ] as const)
      expect((await publicApp.rest(undefined, method, path)).status).toBe(401)
    expect((await publicApp.graphql(undefined, '{ offers { nodes { id } } }')).errors?.[0]?.extensions['code']).toBe(
      'UNAUTHENTICATED',
    )
  })
})
