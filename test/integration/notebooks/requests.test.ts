// Requests to notebooks, through the gateway's own HTTP server to a program on this machine.

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MachineUnreachable, PortRefused } from '../../../src/providers/provider.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type NotebookService, serveNotebooks } from '../../support/notebooks/market.ts'
import { big, startNotebook } from '../../support/notebooks/notebook.ts'
import { newRunningInstance } from '../../support/ssh/instances.ts'

let database: TestDatabase
let gateway: Gateway
let notebook: Awaited<ReturnType<typeof startNotebook>>
let service: NotebookService
let id: bigint
let host: string
let token: string
let cookie: string

beforeAll(async () => {
  database = await createDatabase()
  gateway = openGateway({ url: database.url, delayFactor: 0 })
  notebook = await startNotebook()
  service = await serveNotebooks({ gateway, provider: notebook.provider })
  id = await newRunningInstance(gateway, [], { mode: 'jupyterProxy' })
  host = `ins-${id}.notebooks.example.com`
  const access = await service.services.find(id)
  token = access?.token ?? ''
  cookie = `berth-notebook=${access?.cookie}`
})

afterAll(async () => {
  service.close()
  notebook.close()
  await gateway.close()
  await database.drop()
})

const authorized = () => ({ authorization: `token ${token}` })

describe('a request to a notebook', () => {
  it('reaches it as it was sent, without what is the gateway’s', async () => {
    const path = '/headers?a=1&b=%2F..%2f'
    const { status, text } = await service.ask({
      ...{ host, path, method: 'PATCH', body: Buffer.from('x') },
      headers: {
        ...{
          cookie: `a=1; ${cookie}; _xsrf=2`,
          'x-forwarded-for': '9.9.9.9',
          forwarded: 'for=9.9.9.9',
          te: 'trailers',
        },
        ...{ connection: 'close, x-secret', 'x-secret': '1', 'x-custom': 'é', 'proxy-authorization': 'Basic x' },
        ...{ origin: `http://${host}` },
      },
    })
    expect(status).toBe(200)
    const { method, url, rawHeaders } = JSON.parse(text)
    const pairs = Object.fromEntries(
      (rawHeaders as string[]).flatMap((name, n) => (n % 2 === 0 ? [[name.toLowerCase(), rawHeaders[n + 1]]] : [])),
    )
    expect([method, url]).toEqual(['PATCH', path])
    expect(pairs).toEqual({
      ...{ host, cookie: 'a=1; _xsrf=2', 'x-custom': 'é', origin: `http://${host}` },
      ...{ 'x-forwarded-for': '127.0.0.1', 'x-forwarded-host': host, 'x-forwarded-proto': 'http' },
      ...{ 'content-length': '1', connection: 'close' },
    })
  })

  it('sets a cookie when the address has the token, which then opens it on every gateway', async () => {
    const first = await service.ask({ host, path: `/lab?token=${token}` })
    expect([first.status, first.text]).toEqual([200, 'a notebook'])
    expect(first.headers['set-cookie']).toEqual([`${cookie}; Path=/; HttpOnly; SameSite=Lax`])
    expect(notebook.seen.requests.at(-1)?.url).toBe(`/lab?token=${token}`)
    const next = await service.ask({ host, headers: { cookie } })
    expect([next.status, next.headers['set-cookie']]).toEqual([200, undefined])
    const other = await serveNotebooks({ gateway, provider: notebook.provider })
    expect((await other.ask({ host, headers: { cookie } })).status).toBe(200)
    other.close()
  })

  it.each(['token', 'Token', 'bearer', 'Bearer'])('is let in by the header Authorization: %s', async scheme => {
    const headers = { authorization: `${scheme} ${token}` }
    expect(await service.ask({ host, headers })).toMatchObject({ status: 200, text: 'a notebook' })
    expect(notebook.seen.requests.at(-1)?.headers.authorization).toBe(headers.authorization)
  })

  it('is let in by the right one of several cookies', async () => {
    const headers = { cookie: `berth-notebook=evil; ${cookie}; berth-notebook=evil` }
    expect((await service.ask({ host, headers })).status).toBe(200)
  })

  it('carries 20 MB to the notebook and back', async () => {
    const headers = authorized()
    const { body } = await service.ask({ host, path: '/echo', method: 'POST', headers, body: big })
    expect(body.equals(big)).toBe(true)
    const chunked = { ...headers, 'transfer-encoding': 'chunked' }
    expect((await service.ask({ host, path: '/length', method: 'PUT', headers: chunked, body: big })).text).toBe(
      '20000000',
    )
    expect((await service.ask({ host, path: '/big', headers })).body.equals(big)).toBe(true)
  })

  it('passes on events as they come', async () => {
    const outgoing = service.open({ host, path: '/events', headers: authorized() })
    outgoing.end()
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    const events = notebook.seen.streams.at(-1)
    for (const event of ['data: 0\n\n', 'data: 1\n\n', 'data: 2\n\n']) {
      const received = once(answer, 'data')
      events?.write(event)
      expect(String((await received)[0])).toBe(event)
    }
    events?.end()
    await once(answer, 'end')
  })

  it('makes the notebook wait while the client does not read, and tells it when the client leaves', async () => {
    const outgoing = service.open({ host, path: '/endless', headers: authorized() })
    outgoing.end()
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    answer.on('error', () => {})
    answer.pause()
    let before = -1
    while (notebook.seen.writtenBytes === 0 || notebook.seen.writtenBytes !== before) {
      before = notebook.seen.writtenBytes
      await sleep(700)
    }
    expect(before).toBeLessThan(15_000_000)
    const cutOff = notebook.seen.cutOff
    outgoing.destroy()
    await expect.poll(() => notebook.seen.cutOff).toBe(cutOff + 1)
  })

  it('passes on a failure of the notebook', async () => {
    expect(await service.ask({ host, path: '/missing', headers: authorized() })).toMatchObject({
      ...{ status: 404, text: 'not here' },
    })
  })

  it('asks for the body only once it is let in', async () => {
    const head = (value: string) =>
      `POST /length HTTP/1.1\r\nHost: ${host}\r\nAuthorization: token ${value}\r\nExpect: 100-continue\r\nContent-Length: 3\r\nConnection: close\r\n\r\n`
    expect(await service.send(head('wrong'))).toMatch(/^HTTP\/1\.1 401 /)
    expect(await service.send(`${head(token)}abc`)).toMatch(
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n.*\r\n\r\n3$/s,
    )
  })

  it('keeps the cookies of the notebook to its own host', async () => {
    const { headers } = await service.ask({ host, path: '/cookies', headers: authorized() })
    expect(headers['set-cookie']).toEqual(['user=1; Path=/', 'wide=1; Path=/'])
    expect([headers['clear-site-data'], headers['alt-svc']]).toEqual([undefined, undefined])
  })

  it('shows that an answer is only a part of the whole', async () => {
    await expect(service.ask({ host, path: '/cut', headers: authorized() })).rejects.toThrow('aborted')
  })

  it.each(['/garbage', '/gone'])('answers 502 if the notebook gives no valid answer to %s', async path => {
    expect(await service.ask({ host, path, headers: authorized() })).toMatchObject({
      ...{ status: 502, text: 'The notebook gave no valid answer. Try again in a moment.\n' },
    })
  })
})

it('is refused as if there were no notebook while an operator has disabled the account', async () => {
  const account = { id: (await service.services.find(id))?.container.accountId as number }
  const { accounts } = gateway.operations
  await accounts.disable(account, { reason: 'Fraud.', keepInstances: true })
  expect((await service.ask({ host, headers: authorized() })).status).toBe(401)
  await accounts.enable(account)
  expect((await service.ask({ host, headers: authorized() })).status).toBe(200)
})

describe('a notebook that cannot be reached', () => {
  it.each([
    ['does not listen', () => Promise.reject(new PortRefused('')), 502, 'No notebook listens in'],
    ['is on a machine that is gone', () => Promise.reject(new MachineUnreachable('')), 504, 'does not answer'],
    ['is on a machine that is silent', () => new Promise<never>(() => {}), 504, 'does not answer'],
  ])('because it %s, is answered for by the gateway', async (_, connect, status, message) => {
    const provider = {
      connect: (_container: unknown, _port: unknown, signal: AbortSignal) =>
        Promise.race([connect(), once(signal, 'abort').then(() => Promise.reject(signal.reason))]),
    }
    const away = await serveNotebooks({ gateway, provider, limits: { machineMs: 50 } })
    const answer = await away.ask({ host, headers: { ...authorized(), accept: 'text/html' } })
    expect(answer).toMatchObject({ status, text: expect.stringContaining(message) })
    expect(answer.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    away.close()
  })
})
