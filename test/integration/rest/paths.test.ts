// Paths of the REST face that are not what they seem: without a route, with a word for an id, or with slashes twice.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

async function ask(method: string, path: string, headers: Record<string, string> = {}) {
  const request = new Request(`http://berth.test${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...headers },
  })
  const response = await app.fetch(request)
  return { status: response.status, allow: response.headers.get('allow'), text: await response.text() }
}

it.each(['/api/v0/', '/api/v0'])('%s leads to the documentation, without a key', async path => {
  const { status, text } = await ask('GET', path, { authorization: '' })
  expect(status).toBe(200)
  const links = JSON.parse(text)
  expect(links).toMatchObject({ success: true, documentation: 'http://berth.test/api/v0/docs/' })
  for (const link of [links.documentation, links.openapi])
    expect((await ask('GET', new URL(link).pathname)).status).toBe(200)
})

describe('a word in the place of an id', () => {
  it.each([
    ['PUT', '/api/v0/machines/create_asks/', /machine import/],
    ['GET', '/api/v0/machines/create_asks/', /machine import/],
    ['PUT', '/api/v0/machines/create_bids', /machine import/],
    ['PUT', '/api/v0/machines/defrag_offers/', /automatically/],
    ['GET', '/api/v0/machines/maintenances', /machine drain/],
    ['GET', '/api/v0/instances/pending-price-increases/', /no increases to accept or reject/],
    ['PUT', '/api/v0/instances/accept-price-increase/', /no increases to accept or reject/],
    ['PUT', '/api/v0/instances/reject-price-increase/', /no increases to accept or reject/],
  ])('%s %s says what to do instead', async (method, path, instead) => {
    const { status, text } = await ask(method, path)
    expect([status, JSON.parse(text)]).toEqual([
      404,
      { success: false, error: 'not_found', msg: expect.stringMatching(instead) },
    ])
  })

  it.each(['/api/v0/instances/reboot/', '/api/v0/instances/balance/', '/api/v0/users/me/templates/'])(
    'is not an id where another path goes on with it: %s',
    async path => {
      const { status, text } = await ask('GET', path)
      expect([status, JSON.parse(text)]).toEqual([
        404,
        { success: false, error: 'not_found', msg: `There is no ${path} here.` },
      ])
    },
  )

  it('is refused as before where it is no word of the API', async () => {
    expect(await ask('GET', '/api/v0/instances/mine/')).toMatchObject({ status: 400 })
  })
})

describe('a method that does not work', () => {
  it.each(['PUT', 'DELETE'])('%s is told of those that do, and of none that answers 501', async method => {
    const { status, allow, text } = await ask(method, '/api/v0/charges/')
    expect([status, allow]).toEqual([405, 'GET, HEAD'])
    expect(JSON.parse(text).msg).toBe(`${method} is not allowed on /api/v0/charges/. Allowed: GET, HEAD.`)
  })

  it.each([
    '/api/v0/commands/rsync/',
    '/api/v0/commands/schedule_job/',
    '/api/v0/volumes/copy/',
    '/api/v0/instances/prepay/1/',
  ])('on %s is told what to do instead, since no method works there', async path => {
    const { status, allow, text } = await ask('GET', path)
    expect([status, allow, JSON.parse(text).msg]).toEqual([
      404,
      null,
      expect.stringContaining('Berth does not offer this.'),
    ])
  })
})

describe('a path with two slashes for one', () => {
  it.each(['//api/v0//instances/', '/api//v0/users/current', '/api/v0///bundles/?q={}'])(
    'is served as with one: %s',
    async path => {
      const { status } = await ask('GET', path)
      expect(status).toBe((await ask('GET', path.replaceAll(/\/{2,}/g, '/'))).status)
      expect(status).toBe(200)
    },
  )

  it('is not that of the list where an id is missing at its end', async () => {
    expect(await ask('DELETE', '/api/v0/instances//')).toMatchObject({ status: 404 })
    expect(await ask('DELETE', '/api/v0/instances/1/ssh//')).toMatchObject({ status: 404 })
  })

  it('needs a key where that with one does', async () => {
    expect((await ask('GET', '//api/v0//instances/', { authorization: '' })).status).toBe(401)
    expect((await ask('GET', '//metrics')).status).toBe(404)
  })
})
