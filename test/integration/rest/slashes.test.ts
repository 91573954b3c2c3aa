// Every path works the same with and without its trailing slash.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { createExample, type Example } from '../../support/rest/examples.ts'
import { everyRoute } from '../../support/rest/request-arbitraries.ts'

let app: TestApp
let rentals: ReturnType<typeof rentalsOf>

beforeAll(async () => {
  app = await startApp({ publicSearch: false })
  rentals = rentalsOf(app)
})

afterAll(() => app.close())

async function ask(key: string | undefined, { method, path, body }: Example, slash: boolean) {
  const [, pathname = '', query = ''] =
    /^([^?]*?)\/?(\?.*)?$/.exec(path.startsWith('/api/') ? path : `/api/v0${path}`) ?? []
  const request = new Request(`http://berth.test${pathname}${slash ? '/' : ''}${query}`, {
    method,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const response = await app.fetch(request)
  const type = response.headers.get('content-type')
  const text = await response.text()
  return {
    status: response.status,
    type,
    answer: type === 'application/json' ? typesOf(JSON.parse(text)) : typeof text,
  }
}

/** The types of an answer, without the values that differ between accounts and the lengths of lists. */
function typesOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(typesOf)
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, typesOf(member)]))
}

describe('a path with and without its trailing slash', () => {
  it.each(everyRoute)('answers %s the same, with a key and without', async (_name, route) => {
    const answers = []
    for (const slash of [true, false]) {
      const site = { app, rentals, key: await app.newKey(null, someCredit) }
      const example = await createExample(route, site)
      answers.push({ denied: await ask(undefined, example, slash), done: await ask(site.key, example, slash) })
    }
    expect(answers[0]).toEqual(answers[1])
    const { denied, done } = answers[0] as (typeof answers)[0]
    expect([done.status, denied.status]).toEqual([
      route.failures?.some(({ status }) => status === 501) ? 501 : 200,
      route.open ? 200 : 401,
    ])
  })
})
