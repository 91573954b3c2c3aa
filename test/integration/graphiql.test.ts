import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHttpServer } from '../../src/http/server.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { listMachines } from '../support/factories.ts'

let folder: string
let market: TestApp
let local: TestApp
let open: TestApp

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-graphiql-'))
  market = await startApp()
  // A market with a machine is not filled with hundreds.
  await listMachines(market.operations, [{}])
  const demo = { databaseUrl: market.database.url, graphiql: true, demoKeyFile: join(folder, 'demo-key') }
  local = await startApp({ ...demo, host: '127.0.0.1' })
  open = await startApp({ ...demo, host: '0.0.0.0' })
})

afterAll(async () => {
  for (const app of [open, local, market]) await app.close()
  await rm(folder, { recursive: true })
})

const browse = async (app: TestApp, url: string, headers: Record<string, string> = {}) =>
  await app.fetch(new Request(url, { headers: { accept: 'text/html', ...headers } }))

/** The key that the page has filled in. */
const keyIn = (page: string) => /Bearer (\w+)/.exec(page)?.[1]
const aKey = expect.stringMatching(/^berth_\w{12}_\w{40}$/)

describe('GraphiQL with a demo key', () => {
  it.each(['localhost', '127.0.0.1:4000', '[::1]:4000'])('has it filled in for a browser on %s', async host => {
    expect(keyIn(await (await browse(local, `http://${host}/graphql`)).text())).toEqual(aKey)
  })

  it('keeps it from a page elsewhere that makes its own name point here', async () => {
    expect(keyIn(await (await browse(local, 'http://evil.example.com/graphql')).text())).toBe('YOUR_API_KEY')
  })

  it.each([
    ['forwarded', 'for=192.0.2.1'],
    ['x-forwarded-for', '192.0.2.1'],
    ['x-forwarded-host', 'berth.example.com'],
    ['x-forwarded-proto', 'https'],
    ['x-real-ip', '192.0.2.1'],
    ['via', '1.1 proxy'],
  ])('keeps it from whoever comes through a proxy that sends %s', async (name, value) => {
    const response = await browse(local, 'http://127.0.0.1:4000/graphql', { [name]: value })
    expect(keyIn(await response.text())).toBe('YOUR_API_KEY')
  })

  it('keeps it to itself where the network reaches it, whatever Host is sent', async () => {
    expect(await keyOverSocket(local, '127.0.0.1', {})).toEqual(aKey)
    expect(await keyOverSocket(local, '127.0.0.1', { 'x-forwarded-for': '192.0.2.1' })).toBe('YOUR_API_KEY')
    expect(await keyOverSocket(open, '0.0.0.0', {})).toBe('YOUR_API_KEY')
  })
})

/** The key in the page that the app sends over a real connection to one that says that it asked for localhost. */
async function keyOverSocket({ fetch }: TestApp, address: string, more: Record<string, string>) {
  const server = createHttpServer(fetch).listen(0, address)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const headers = { host: 'localhost', accept: 'text/html', ...more }
  const request = get({ host: '127.0.0.1', port, path: '/graphql', agent: false, headers })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  server.close()
  return keyIn(text)
}

it('shows in no frame, and is kept by no cache', async () => {
  const { headers } = await browse(local, 'http://127.0.0.1/graphql')
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  expect(headers.get('cache-control')).toBe('no-store')
})
