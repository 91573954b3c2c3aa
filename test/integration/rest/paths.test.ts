// Unusual REST paths: without a route, with a word in place of an id, or with double slashes.

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

it.each(['/api/v0/', '/api/v0'])('links to the documentation without a key at %s', async path => {
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
  ])('is answered with advice at %s %s', async (method, path, instead) => {
    const { status, text } = await ask(method, path)
    expect([status, JSON.parse(text)]).toEqual([
      404,
      { success: false, error: 'not_found', msg: expect.stringMatching(instead) },
    ])
  })

  it.each(['/api/v0/instances/reboot/', '/api/v0/instances/balance/', '/api/v0/users/me/templates/'])(
    'is not read as an id if it starts another path: %s',
    async path => {
      const { status, text } = await ask('GET', path)
      expect([status, JSON.parse(text)]).toEqual([
        404,
        { success: false, error: 'not_found', msg: `There is no ${path} here.` },
      ])
    },
  )

  it('is refused as an invalid id if it is unknown', async () => {
    expect(await ask('GET', '/api/v0/instances/mine/')).toMatchObject({ status: 400 })
  })
})

describe('a method that a path does not accept', () => {
  it.each(['PUT', 'DELETE'])(
    'is answered with the methods that work, without methods that answer 501: %s',
    async method => {
      const { status, allow, text } = await ask(method, '/api/v0/charges/')
      expect([status, allow]).toEqual([405, 'GET, HEAD'])
      expect(JSON.parse(text).msg).toBe(`${method} is not allowed on /api/v0/charges/. Allowed: GET, HEAD.`)
    },
  )

  it.each([
    '/api/v0/commands/rsync/',
    '/api/v0/commands/schedule_job/',
    '/api/v0/volumes/copy/',
    '/api/v0/instances/prepay/1/',
  ])('is answered with advice on %s, where no method works', async path => {
    const { status, allow, text } = await ask('GET', path)
    expect([status, allow, JSON.parse(text).msg]).toEqual([
      404,
      null,
      expect.stringContaining('Berth does not offer this.'),
    ])
  })
})

describe('a path with double slashes', () => {
  it.each(['//api/v0//instances/', '/api//v0/users/current', '/api/v0///bundles/?q={}'])(
    'is served like a path with single slashes: %s',
    async path => {
      const { status } = await ask('GET', path)
      expect(status).toBe((await ask('GET', path.replaceAll(/\/{2,}/g, '/'))).status)
      expect(status).toBe(200)
    },
  )

  it('does not match the list if the id at its end is missing', async () => {
    expect(await ask('DELETE', '/api/v0/instances//')).toMatchObject({ status: 404 })
    expect(await ask('DELETE', '/api/v0/instances/1/ssh//')).toMatchObject({ status: 404 })
  })

  it('needs a key like a path with single slashes', async () => {
    expect((await ask('GET', '//api/v0//instances/', { authorization: '' })).status).toBe(401)
    expect((await ask('GET', '//metrics')).status).toBe(404)
  })
})
