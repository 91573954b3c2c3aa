// Logs and commands of REST clients: the answer has a link, and the link has the text.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maxResults, maxResultsBytes } from '../../../src/domain/instances/results.ts'
import { createTrustedProxies } from '../../../src/http/client.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { dumpDatabase } from '../../support/database/dump.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let beside: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  beside = await startApp({ sharedApp: app })
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(async () => {
  await beside.close()
  await app.close()
})

const askLogs = async (id: number, body: object | string | undefined = {}, path = '/instances/request_logs') =>
  await app.rest(key, 'PUT', `${path}/${id}/`, body)
const execute = async (id: number, command: unknown) =>
  await app.rest(key, 'PUT', `/instances/command/${id}/`, { command })

/** The content of a link, read without a key. */
async function read(url: string, by: TestApp = app) {
  const { status, headers, ...response } = await by
    .fetch(new Request(url))
    .then(async answer => ({ status: answer.status, headers: answer.headers, text: await answer.text() }))
  const caching = headers.get('cache-control')
  return { status, type: headers.get('content-type'), caching, text: response.text }
}

const linesOf = async (id: number) => {
  const { data } = await app.graphql(key, `{ instance(id: "${id}") { logs(tail: 1000) { text source } } }`)
  return data.instance.logs as { text: string; source: string }[]
}
const textOf = (lines: { text: string }[]) => lines.map(({ text }) => `${text}\n`).join('')

describe('a log', () => {
  it('has a link on the requested host that works without a key on every gateway', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const { status, body } = await askLogs(id)
    expect([status, body]).toEqual([
      200,
      {
        success: true,
        result_url: expect.stringMatching(/^http:\/\/berth\.test\/api\/v0\/results\//),
        msg: expect.any(String),
      },
    ])
    const found = await read(body.result_url)
    expect([found.status, found.type]).toEqual([200, 'text/plain; charset=utf-8'])
    const lines = await linesOf(id)
    expect(lines.length).toBeGreaterThan(2)
    expect(found.text).toBe(textOf(lines))
    expect(await read(body.result_url, beside)).toEqual(found)
    expect(await read(body.result_url)).toEqual(found)
  })

  it('is served with cache-control: no-store', async () => {
    const { body } = await askLogs(await rentals.rent(key))
    const { headers } = await app.fetch(new Request(body.result_url))
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it('needs only the permission to read logs', async () => {
    const [id, other] = [await rentals.rent(key), await rentals.rent(key)]
    const statusOf = async (by: string, instance: number) =>
      (await app.rest(by, 'PUT', `/instances/request_logs/${instance}/`, {})).status
    const scoped = (rule: object) => app.newScopedKey(key, { api: { instance_read: rule } })
    const reader = await scoped({ 'instances.logs': {} })
    expect([await statusOf(reader, id), await statusOf(reader, other)]).toEqual([200, 200])
    const bound = await scoped({ 'instances.logs': { constraints: { id: { eq: id } } } })
    expect([await statusOf(bound, id), await statusOf(bound, other)]).toEqual([200, 403])
    expect(await statusOf(await scoped({ 'instances.get': {} }), id)).toBe(403)
  })

  it('has a link to where a trusted proxy says that the client is, and nobody else', async () => {
    const url = `http://berth.test/api/v0/instances/request_logs/${await rentals.rent(key)}/`
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'berth.example.com' }
    const headers = { ...forwarded, authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const { clientOf } = createTrustedProxies(['10.0.0.1'])
    const linkFor = async (remoteAddress: string) => {
      const client = clientOf({ headers, socket: { remoteAddress } })
      const answer = await app.fetch(new Request(url, { method: 'PUT', headers, body: '{}' }), { client })
      return (await answer.json()).result_url.replace(/token=.*/, '')
    }
    expect(await linkFor('10.0.0.1')).toBe('https://berth.example.com/api/v0/results/?')
    expect(await linkFor('203.0.113.9')).toBe('http://berth.test/api/v0/results/?')
  })

  it.each([
    ['tail as a string', { tail: '2' }, -2],
    ['tail as a number', { tail: 1 }, -1],
    ['a tail above the maximum', { tail: '5000', daemon_logs: 'False' }, 0],
    ['null and "" as absent', { tail: null, filter: '', daemon_logs: '' }, 0],
  ])('accepts %s', async (_name, body, from) => {
    const id = await rentals.rentToStatus(key, 'running')
    const { text } = await read((await askLogs(id, body)).body.result_url)
    expect(text).toBe(textOf((await linesOf(id)).slice(from)))
  })

  it.each([undefined, ''])('accepts the body %o', async body => {
    expect((await askLogs(await rentals.rent(key), body)).status).toBe(200)
  })

  it('has only the lines that contain the filter, or only the lines of the machine', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const lines = await linesOf(id)
    const [own, machine] = [
      lines.find(({ source }) => source !== 'MACHINE'),
      lines.find(({ source }) => source === 'MACHINE'),
    ]
    const needle = own?.text.slice(0, 8) as string
    const filtered = await read((await askLogs(id, { filter: needle })).body.result_url)
    expect(filtered.text).toBe(textOf(lines.filter(({ text }) => text.includes(needle))))
    const machineLog = await read((await askLogs(id, { daemon_logs: 'true', tail: '1000' })).body.result_url)
    expect(machineLog.text).toBe(textOf(lines.filter(({ source }) => source === 'MACHINE')))
    expect(machineLog.text).toContain(machine?.text)
    expect(machineLog.text).not.toContain(own?.text)
  })

  it.each([{ tail: '0' }, { tail: -1 }, { tail: 'many' }, { daemon_logs: 'perhaps' }, { filter: 'x'.repeat(513) }])(
    'with %j is refused',
    async body => {
      const { status, body: failure } = await askLogs(await rentals.rent(key), body)
      expect([status, failure.error, failure.msg]).toEqual([
        400,
        'invalid_args',
        expect.stringMatching(new RegExp(`^${Object.keys(body)[0]}: `)),
      ])
    },
  )

  it('of a destroyed instance is not found', async () => {
    const id = await rentals.rent(key)
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    expect(await askLogs(id)).toMatchObject({ status: 404, body: { error: 'no_such_instance', instances: null } })
  })
})

it('forbids caching of a link and of the answer that contains it', async () => {
  const { headers, body } = await askLogs(await rentals.rent(key))
  const [found, missing] = [await read(body.result_url), await read(`${body.result_url}x`)]
  expect([headers.get('cache-control'), found.caching, missing.caching]).toEqual(Array(3).fill('no-store'))
})

describe('a command', () => {
  it('has a link to its output', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const { status, body } = await execute(id, 'echo one two')
    expect([status, body]).toEqual([
      200,
      { success: true, writeable_path: '', result_url: expect.any(String), msg: expect.any(String) },
    ])
    expect(await read(body.result_url)).toMatchObject({ status: 200, text: 'one two\n' })
  })

  it('in a destroyed instance is not found', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    expect(await execute(id, 'ls')).toMatchObject({ status: 404, body: { error: 'no_such_instance', instances: null } })
  })

  it('is refused if it is empty, is not a string, or its instance does not run', async () => {
    const id = await rentals.rent(key)
    expect(await execute(id, 'ls')).toMatchObject({ status: 400, body: { error: 'invalid_state' } })
    for (const command of [null, '', ' ', undefined, 7])
      expect(await execute(id, command)).toMatchObject({ status: 400, body: { error: 'invalid_args' } })
  })
})

describe('a link', () => {
  const newLink = async () => (await askLogs(await rentals.rentToStatus(key, 'running'))).body.result_url as string

  it('expires after ten minutes, and its content is deleted', async () => {
    const url = await newLink()
    app.clock.advance(599_000)
    expect((await read(url)).status).toBe(200)
    app.clock.advance(1_000)
    const { status, type, text } = await read(url)
    expect([status, type]).toEqual([404, 'application/json'])
    expect(JSON.parse(text)).toMatchObject({ success: false, error: 'not_found' })
    app.clock.advance(60_000)
    await app.runUntilIdle()
    expect(await app.sql('SELECT FROM results')).toEqual([])
  })

  it('with a changed token is not found, and without a token is refused', async () => {
    const url = await newLink()
    expect((await read(`${url}x`)).status).toBe(404)
    expect((await read(url.replace(/token=./, 'token=~'))).status).toBe(404)
    expect((await read('http://berth.test/api/v0/results?token=%00')).status).toBe(404)
    expect((await read('http://berth.test/api/v0/results')).status).toBe(400)
  })

  it('does not appear in the log or the database, and neither does its content', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const { body } = await execute(id, 'echo a-secret-of-mine')
    const [, token = 'none'] = body.result_url.split('token=')
    await read(body.result_url)
    for (const everything of [await dumpDatabase(app.database.url), JSON.stringify(app.logLines)]) {
      expect(everything).not.toContain(token)
      expect(everything).not.toContain('a-secret-of-mine')
    }
  })

  it('is deleted when newer links of the same account exceed the limit', async () => {
    const other = await app.newKey(null, someCredit)
    const theirs = await rentals.rent(other)
    const kept = (await app.rest(other, 'PUT', `/instances/request_logs/${theirs}/`)).body.result_url
    const id = await rentals.rent(key)
    const ask = async () => {
      app.clock.advance(1)
      return (await askLogs(id)).body.result_url
    }
    const statuses = async () => await Promise.all(urls.map(async url => (await read(url)).status))
    const urls = [await ask(), await ask(), await ask()]
    // Fills the account up to the limit.
    await app.sql(`
      INSERT INTO results (token_hash, account_id, text, expires_at)
      SELECT sha256(n::text::bytea), r.account_id, '', r.expires_at FROM generate_series(1, ${maxResults - 3}) n,
        LATERAL (SELECT account_id, expires_at FROM results ORDER BY expires_at DESC LIMIT 1) r`)
    expect(await statuses()).toEqual([200, 200, 200])
    urls.push(await ask())
    expect(await statuses()).toEqual([404, 200, 200, 200])
    await app.sql(`
      UPDATE results SET text = convert_to(repeat('x', ${maxResultsBytes / 2}), 'UTF8') WHERE token_hash IN (
        SELECT token_hash FROM results WHERE text <> '' ORDER BY expires_at DESC LIMIT 2)`)
    urls.splice(0, 4, await ask(), await ask())
    const [row] = await app.sql(`SELECT count(*) FROM results WHERE length(text) = ${maxResultsBytes / 2}`)
    expect([await statuses(), row]).toEqual([[200, 200], { count: '1' }])
    expect((await read(kept)).status).toBe(200)
  })
})
