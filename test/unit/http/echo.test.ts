// Which answers say how their request arrived.

import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { echoRequests } from '../../../src/http/admission/echo.ts'
import { createTrustedProxies } from '../../../src/http/client.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { noPlace } from '../../../src/turns/owners.ts'

let server: Server
let url: string

beforeAll(async () => {
  const proxies = createTrustedProxies(['127.0.0.1'])
  const admitAll = async () => ({ begun: undefined, place: noPlace })
  const admit = echoRequests(admitAll, { proxies, isToken: token => token === 'right' })
  server = createHttpServer(async () => new Response('answer', { headers: { 'x-face': 'yes' } }), { proxies, admit })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => {
  server.close()
  server.closeAllConnections()
})

const ask = (headers: Record<string, string>) => fetch(`${url}/graphql`, { headers })

it('says how a request with the token arrived, and answers it as any other', async () => {
  const answer = await ask({ 'berth-echo': 'right' })
  expect([answer.status, await answer.text(), answer.headers.get('x-face')]).toEqual([200, 'answer', 'yes'])
  const { host } = new URL(url)
  expect(JSON.parse(answer.headers.get('berth-echo') ?? '')).toEqual({
    ...{ peer: '127.0.0.1', isTrusted: true, address: '127.0.0.1', origin: `http://${host}`, forwarded: '' },
  })
})

it('says what a trusted proxy says of the client', async () => {
  const forwarded = { 'x-forwarded-for': '198.51.100.9, 203.0.113.7', 'x-forwarded-proto': 'https' }
  const answer = await ask({ 'berth-echo': 'right', ...forwarded, 'x-forwarded-host': 'berth.example.com' })
  expect(JSON.parse(answer.headers.get('berth-echo') ?? '')).toEqual({
    ...{ peer: '127.0.0.1', isTrusted: true, address: '203.0.113.7' },
    ...{ origin: 'https://berth.example.com', forwarded: '198.51.100.9, 203.0.113.7' },
  })
})

it.each([{}, { 'berth-echo': 'wrong' }, { 'berth-echo': '' }])('says nothing to who sends %o', async headers => {
  const answer = await ask(headers)
  expect([answer.status, answer.headers.get('berth-echo')]).toEqual([200, null])
  const streamed = await ask({ ...headers, accept: 'text/event-stream' })
  expect([await streamed.text(), streamed.headers.get('berth-echo')]).toEqual(['answer', null])
})

it('opens a stream for the token alone, which begins at once and has no events', async () => {
  const leaving = new AbortController()
  const over = new Promise(resolve => {
    server.once('request', (_request, response) => response.once('close', resolve))
  })
  const headers = { 'berth-echo': 'right', accept: 'text/event-stream' }
  const answer = await fetch(`${url}/graphql`, { headers, signal: leaving.signal })
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  expect(answer.headers.get('x-accel-buffering')).toBe('no')
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
  const { value } = await reader.read()
  expect(new TextDecoder().decode(value)).toBe(':\n\n')
  leaving.abort()
  await expect(reader.read()).rejects.toThrow()
  await over
})
