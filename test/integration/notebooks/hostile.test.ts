// Requests that try to get at notebooks of others, or past the gateway.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTrustedProxies } from '../../../src/http/client.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type Ask, type NotebookService, serveNotebooks } from '../../support/notebooks/market.ts'
import { startNotebook } from '../../support/notebooks/notebook.ts'
import { newRunningInstance } from '../../support/ssh/instances.ts'

let database: TestDatabase
let gateway: Gateway
let notebook: Awaited<ReturnType<typeof startNotebook>>
let service: NotebookService
type Known = { id: bigint; host: string; token: string; cookie: string }
let mine: Known
let others: Known

beforeAll(async () => {
  database = await createDatabase()
  gateway = openGateway({ url: database.url, delayFactor: 0 })
  notebook = await startNotebook()
  service = await serveNotebooks({ gateway, provider: notebook.provider, limits: { failuresPerMinute: 1_000 } })
  const rent = async (): Promise<Known> => {
    const id = await newRunningInstance(gateway, [], { mode: 'jupyterProxy' })
    const access = await service.services.find(id)
    const cookie = `berth-notebook=${access?.cookie}`
    return { id, host: `ins-${id}.notebooks.example.com`, token: access?.token ?? '', cookie }
  }
  mine = await rent()
  others = await rent()
})

beforeEach(() => {
  notebook.seen.requests.length = 0
})

afterAll(async () => {
  service.close()
  notebook.close()
  await gateway.close()
  await database.drop()
})

const ask = (asked: Partial<Ask> = {}) => service.ask({ host: mine.host, ...asked })

describe('a request without the right token', () => {
  it.each<[what: string, asked: () => Partial<Ask>]>([
    ['no token', () => ({})],
    ['a wrong token', () => ({ path: '/?token=wrong' })],
    ['an empty token', () => ({ path: '/?token=' })],
    ['a part of the token', () => ({ path: `/?token=${mine.token.slice(0, -1)}` })],
    ['the token of another instance', () => ({ path: `/?token=${others.token}` })],
    ['the cookie of another instance', () => ({ headers: { cookie: others.cookie } })],
    ['its token as the cookie', () => ({ headers: { cookie: `berth-notebook=${mine.token}` } })],
    ['its cookie as the token', () => ({ path: `/?token=${mine.cookie.split('=')[1]}` })],
    ['a cookie of another name', () => ({ headers: { cookie: `x${mine.cookie}` } })],
    ['a password', () => ({ headers: { authorization: `Basic ${btoa(`token:${mine.token}`)}` } })],
    [
      'an instance that does not exist',
      () => ({ host: 'ins-999.notebooks.example.com', path: `/?token=${mine.token}` }),
    ],
  ])('gets 401 for %s, and does not reach the container', async (_, asked) => {
    const { status, text, headers } = await ask(asked())
    expect(status).toBe(401)
    expect(text).toBe(
      'This notebook needs its token. The renter of the instance finds it next to this address, as notebookToken (REST: jupyter_token).\n',
    )
    expect(headers['set-cookie']).toBeUndefined()
    expect(notebook.seen.requests).toEqual([])
  })

  it('gets a page that asks for the token, and repeats nothing of the request', async () => {
    const { text, headers } = await ask({ path: '/<script>?token=%3Cscript%3E', headers: { accept: 'text/html' } })
    expect(text).toContain('<form>')
    expect(text).not.toContain('script')
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'/)
  })
})

describe('the cookie', () => {
  const withCookie = (headers: Ask['headers'], asked: Partial<Ask> = {}) =>
    ask({ ...asked, headers: { cookie: mine.cookie, ...headers } })
  const cross = { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }
  const navigation = { ...cross, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

  it.each<[what: string, headers: Ask['headers'], asked?: Partial<Ask>]>([
    ['of another notebook', { origin: 'http://ins-7.notebooks.example.com' }],
    ['of another scheme', { origin: 'https://ins-1.notebooks.example.com' }],
    ['without an origin', { origin: 'null' }],
    ['that the browser names another site', cross],
    ['in a frame', { ...navigation, 'sec-fetch-dest': 'iframe' }],
    ['that sends a form', navigation, { method: 'POST' }],
  ])('does not let in a request of a page %s', async (_, headers, asked) => {
    expect((await withCookie(headers, asked)).status).toBe(403)
    expect(notebook.seen.requests).toEqual([])
  })

  it.each<[what: string, headers: () => Ask['headers']]>([
    ['its own pages', () => ({ origin: `http://${mine.host}`, 'sec-fetch-site': 'same-origin' })],
    ['the address bar', () => ({ ...navigation, 'sec-fetch-site': 'none' })],
    ['a link elsewhere', () => navigation],
    ['an old browser', () => ({})],
  ])('lets in a request of %s', async (_, headers) => {
    expect((await withCookie(headers())).status).toBe(200)
  })

  it('is Secure and has a prefix under https', async () => {
    const secure = { protocol: 'https', host: 'notebooks.example.com' } as const
    const proxies = createTrustedProxies(['127.0.0.1'])
    const behind = await serveNotebooks({ gateway, provider: notebook.provider, proxy: secure, proxies })
    const headers = { 'x-forwarded-for': '1.1.1.1, 203.0.113.9' }
    const answer = await behind.ask({ host: mine.host, path: `/headers?token=${mine.token}`, headers })
    const [, value] = mine.cookie.split('=')
    const name = '__Host-berth-notebook'
    expect(answer.headers['set-cookie']).toEqual([`${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Secure`])
    const { rawHeaders } = JSON.parse(answer.text)
    const sent = (header: string) => rawHeaders[rawHeaders.indexOf(header) + 1]
    expect([sent('X-Forwarded-For'), sent('X-Forwarded-Proto')]).toEqual(['203.0.113.9', 'https'])
    behind.close()
  })
})

describe('a host', () => {
  it.each(['INS-1.Notebooks.Example.COM', 'ins-1.notebooks.example.com:80', 'ins-1.notebooks.example.com.'])(
    'may be written as %s',
    async host => {
      expect((await ask({ host, headers: { authorization: `token ${mine.token}` } })).status).toBe(200)
    },
  )

  it.each([
    ...['notebooks.example.com', 'localhost', '127.0.0.1', '[::1]:80', 'ins-1.notebooks.example.com.evil.com'],
    ...['x.ins-1.notebooks.example.com', 'ins_1.notebooks.example.com', 'ins-01.notebooks.example.com'],
    ...['ins--1.notebooks.example.com', 'ins-9999999999999999999.notebooks.example.com', 'evilnotebooks.example.com'],
    'ins-1.example.com',
  ])('names no notebook as %s', async host => {
    const { status, text } = await ask({ host, headers: { authorization: `token ${mine.token}` } })
    expect([status, text]).toEqual([404, 'There is no notebook at this address.\n'])
  })
})

describe('bytes that are read in different ways', () => {
  const head = (...lines: string[]) =>
    [...lines, `Host: ${mine.host}`, `Authorization: token ${mine.token}`, 'Connection: close', '', ''].join('\r\n')

  it.each<[what: string, status: number, text: () => string]>([
    ['two lengths', 400, () => `${head('POST /echo HTTP/1.1', 'Content-Length: 3', 'Content-Length: 4')}abc`],
    [
      'a length and chunks',
      400,
      () => `${head('POST /echo HTTP/1.1', 'Content-Length: 3', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
    ],
    [
      'a coding besides chunks',
      400,
      () => `${head('POST /echo HTTP/1.1', 'Transfer-Encoding: gzip, chunked')}0\r\n\r\n`,
    ],
    [
      'chunks that are not last',
      400,
      () => `${head('POST /echo HTTP/1.1', 'Transfer-Encoding: chunked, gzip')}0\r\n\r\n`,
    ],
    ['two hosts', 400, () => head('GET / HTTP/1.1', 'Host: other.example.com')],
    ['no host', 400, () => 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a host with a user', 400, () => `GET / HTTP/1.1\r\nHost: x@${mine.host}\r\nConnection: close\r\n\r\n`],
    ['a whole URL', 400, () => head(`GET http://${mine.host}/ HTTP/1.1`)],
    ['no path', 400, () => head('OPTIONS * HTTP/1.1')],
    ['a line that is folded', 400, () => head('GET / HTTP/1.1', 'X: a\r\n b')],
    ['a blank before the colon', 400, () => head('GET / HTTP/1.1', 'X : a')],
    ['a bare line feed', 400, () => head('GET / HTTP/1.1', 'X: a\nY: b').replace('\r\n\r\n', '\n\n')],
    ['a header that is too large', 431, () => head('GET / HTTP/1.1', `X: ${'x'.repeat(20_000)}`)],
    ['an expectation that is not known', 417, () => head('GET / HTTP/1.1', 'Expect: a miracle')],
    ['a handshake with a body', 400, () => `${head('GET / HTTP/1.1', 'Upgrade: websocket', 'Content-Length: 3')}abc`],
  ])('are refused: %s', async (_, status, text) => {
    expect(await service.send(text())).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(notebook.seen.requests.map(({ url }) => url)).toEqual([])
  })

  it('are no second request when they are the body of a GET', async () => {
    const hidden = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n'
    const sized = `${head('GET /echo HTTP/1.1', `Content-Length: ${hidden.length}`)}${hidden}`
    expect(await service.send(sized)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    const chunks = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`
    expect(await service.send(`${head('GET /length HTTP/1.1', 'Transfer-Encoding: chunked')}${chunks}`)).toMatch(
      new RegExp(`\r\n\r\n${hidden.length}$`),
    )
    // The length is the gateway's business, even if the client names it as its own.
    const named = `${head('GET /length HTTP/1.1', `Content-Length: ${hidden.length}`, 'Connection: content-length')}${hidden}`
    expect(await service.send(named)).toMatch(new RegExp(`\r\n\r\n${hidden.length}$`))
    expect(notebook.seen.requests.map(({ url }) => url)).toEqual(['/echo', '/length', '/length'])
  })

  it('keep their path, whatever it means', async () => {
    const headers = { authorization: `token ${mine.token}` }
    for (const path of ['/../../etc/passwd', '/%2e%2e/%2f', '//evil.example.com/', '/a%0d%0aX:1'])
      expect((await ask({ path, headers })).status).toBe(200)
    expect(notebook.seen.requests.map(({ url }) => url)).toEqual([
      ...['/../../etc/passwd', '/%2e%2e/%2f', '//evil.example.com/', '/a%0d%0aX:1'],
    ])
  })
})

describe('a handshake behind a request that is not answered yet', () => {
  // Vitest fails a file in which an exception is caught by nobody. A gateway would end.
  it.each<[what: string, authorization: () => string]>([
    ['without the token', () => 'token wrong'],
    ['with the token', () => `token ${mine.token}`],
  ])('ends the connection, and not the gateway: %s', async (_, authorization) => {
    const lines = (...more: string[]) =>
      ['GET /ws HTTP/1.1', `Host: ${mine.host}`, `Authorization: ${authorization()}`, ...more, '', ''].join('\r\n')
    expect(await service.send(lines() + lines('Connection: Upgrade', 'Upgrade: websocket'))).toBe('')
    expect((await ask()).status).toBe(401)
  })
})

describe('too much', () => {
  const headers = () => ({ authorization: `token ${mine.token}` })

  it('of one address is refused, and the rest goes on', async () => {
    const few = await serveNotebooks({ gateway, provider: notebook.provider, limits: { connectionsPerAddress: 2 } })
    const open = [1, 2].map(() => few.open({ host: mine.host, path: '/endless', headers: headers() }))
    for (const outgoing of open) outgoing.on('error', () => {}).end()
    await Promise.all(open.map(outgoing => once(outgoing, 'response')))
    expect(await few.ask({ host: mine.host, headers: headers() })).toMatchObject({ status: 429 })
    for (const outgoing of open) outgoing.destroy()
    await expect.poll(async () => (await few.ask({ host: mine.host, headers: headers() })).status).toBe(200)
    few.close()
  })

  it.each(['connectionsPerInstance', 'connectionsPerAccount'])(
    'is refused beyond %s, and others are not',
    async limit => {
      const few = await serveNotebooks({ gateway, provider: notebook.provider, limits: { [limit]: 1 } })
      const outgoing = few.open({ host: mine.host, path: '/endless', headers: headers() })
      outgoing.on('error', () => {}).end()
      await once(outgoing, 'response')
      expect(await few.ask({ host: mine.host, headers: headers() })).toMatchObject({ status: 429 })
      const other = await few.ask({ host: others.host, headers: { authorization: `token ${others.token}` } })
      expect(other.status).toBe(200)
      outgoing.destroy()
      few.close()
    },
  )

  it('guessing of tokens is refused, also for the right token', async () => {
    const few = await serveNotebooks({ gateway, provider: notebook.provider, limits: { failuresPerMinute: 3 } })
    const guess = async (token: string) => (await few.ask({ host: mine.host, path: `/?token=${token}` })).status
    expect(await guess('1')).toBe(401)
    // A browser without a token has not guessed.
    expect((await few.ask({ host: mine.host })).status).toBe(401)
    expect([await guess('2'), await guess('3'), await guess(mine.token)]).toEqual([401, 401, 429])
    few.close()
  })

  it('silence of one address shuts nobody else out, unless it is a proxy', async () => {
    const proxies = createTrustedProxies(['127.0.0.9'])
    const few = await serveNotebooks({
      gateway,
      provider: notebook.provider,
      proxies,
      limits: { socketsPerAddress: 5 },
    })
    const count = () => new Promise<number>(resolve => few.server.getConnections((_, open) => resolve(open)))
    const openSilently = (localAddress: string) =>
      Array.from({ length: 12 }, () =>
        connect({ port: few.port, host: '127.0.0.1', localAddress }).on('error', () => {}),
      )
    const silent = openSilently('127.0.0.2')
    await expect.poll(() => silent.filter(({ closed }) => closed)).toHaveLength(7)
    expect(await count()).toBe(5)
    expect((await few.ask({ host: mine.host, headers: headers() })).status).toBe(200)
    silent.find(({ closed }) => !closed)?.destroy()
    await expect.poll(count).toBe(4)
    const ofProxy = openSilently('127.0.0.9')
    await expect.poll(count).toBe(16)
    for (const socket of [...silent, ...ofProxy]) socket.destroy()
    few.close()
  })

  it('all connections: a silent one makes room for a new one', async () => {
    const few = await serveNotebooks({ gateway, provider: notebook.provider, limits: { connections: 2 } })
    const silent = Array.from({ length: 4 }, () => connect(few.port, '127.0.0.1').on('error', () => {}))
    const count = () => new Promise<number>(resolve => few.server.getConnections((_, open) => resolve(open)))
    await expect.poll(count).toBe(4)
    expect((await few.ask({ host: mine.host, headers: headers() })).status).toBe(200)
    await expect.poll(() => silent.filter(({ closed }) => closed)).toHaveLength(1)
    for (const socket of silent) socket.destroy()
    few.close()
  })

  it('time for the head of a request ends the connection', async () => {
    const hasty = await serveNotebooks({ gateway, provider: notebook.provider, limits: { headMs: 200 } })
    expect(await hasty.send('GET / HTTP/1.1\r\nHost: ')).toMatch(/^HTTP\/1\.1 408 /)
    hasty.close()
  })

  it('silence in a request ends it', async () => {
    const hasty = await serveNotebooks({ gateway, provider: notebook.provider, limits: { idleMs: 300 } })
    const begun = `POST /length HTTP/1.1\r\nHost: ${mine.host}\r\nAuthorization: token ${mine.token}\r\nContent-Length: 9\r\n\r\nabc`
    expect(await hasty.send(begun)).toBe('')
    hasty.close()
  })

  it('does not slow the gateway down: 1,000 connections without a token are all answered', async () => {
    const wide = { connectionsPerAddress: 2_000, socketsPerAddress: 2_000, failuresPerMinute: 5_000, headMs: 60_000 }
    const patient = await serveNotebooks({ gateway, provider: notebook.provider, limits: wide })
    const sockets = await Promise.all(
      Array.from({ length: 1_000 }, async () => {
        const socket: Socket = connect({ port: patient.port, host: '127.0.0.1' })
        socket.on('error', () => {})
        await once(socket, 'connect')
        return socket
      }),
    )
    const answers = sockets.map(async socket => {
      const closed = once(socket, 'close')
      let text = ''
      socket.on('data', part => {
        text += part
      })
      socket.write(`GET /?token=x HTTP/1.1\r\nHost: ${mine.host}\r\n\r\n`)
      await closed
      return text.slice(0, 12)
    })
    // The database of a machine that is busy may not answer in time.
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 (401|503)$/)
    await expect.poll(async () => (await patient.ask({ host: mine.host, headers: headers() })).status).toBe(200)
    patient.close()
  })
})
