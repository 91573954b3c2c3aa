import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHttpServer } from '../../../src/http/server.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'

let folder: string
let marketApp: TestApp
let localApp: TestApp
let publicApp: TestApp

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-graphiql-'))
  marketApp = await startApp()
  // The demo market adds no machines to a database that already has a machine.
  await listMachines(marketApp.operations, [{}])
  const demo = { databaseUrl: marketApp.database.url, graphiql: true, demoKeyFile: join(folder, 'demo-key') }
  localApp = await startApp({ ...demo, host: '127.0.0.1' })
  publicApp = await startApp({ ...demo, host: '0.0.0.0' })
})

afterAll(async () => {
  for (const app of [publicApp, localApp, marketApp]) await app.close()
  await rm(folder, { recursive: true })
})

const browse = async (app: TestApp, url: string, headers: Record<string, string> = {}) =>
  await app.fetch(new Request(url, { headers: { accept: 'text/html', ...headers } }))

/** The key that the page fills in. */
const findKey = (page: string) => /Bearer (\w+)/.exec(page)?.[1]
const anyKey = expect.stringMatching(/^berth_\w{12}_\w{40}$/)

describe('GraphiQL with a demo key', () => {
  it.each(['localhost', '127.0.0.1:4000', '[::1]:4000'])('fills the key in for a browser on %s', async host => {
    expect(findKey(await (await browse(localApp, `http://${host}/graphql`)).text())).toEqual(anyKey)
  })

  it('hides the key from a foreign page whose domain resolves to this machine', async () => {
    expect(findKey(await (await browse(localApp, 'http://evil.example.com/graphql')).text())).toBe('YOUR_API_KEY')
  })

  it.each([
    ['forwarded', 'for=192.0.2.1'],
    ['x-forwarded-for', '192.0.2.1'],
    ['x-forwarded-host', 'berth.example.com'],
    ['x-forwarded-proto', 'https'],
    ['x-real-ip', '192.0.2.1'],
    ['via', '1.1 proxy'],
  ])('hides the key from a client behind a proxy that sends %s', async (name, value) => {
    const response = await browse(localApp, 'http://127.0.0.1:4000/graphql', { [name]: value })
    expect(findKey(await response.text())).toBe('YOUR_API_KEY')
  })

  it('hides the key when the gateway listens on a public address, even if Host is localhost', async () => {
    expect(await fetchKey(localApp, '127.0.0.1', {})).toEqual(anyKey)
    expect(await fetchKey(localApp, '127.0.0.1', { 'x-forwarded-for': '192.0.2.1' })).toBe('YOUR_API_KEY')
    expect(await fetchKey(publicApp, '0.0.0.0', {})).toBe('YOUR_API_KEY')
  })
})

/** The key in the page, fetched over a real connection with the Host header `localhost`. */
async function fetchKey({ fetch }: TestApp, address: string, more: Record<string, string>) {
  const server = createHttpServer(fetch).listen(0, address)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const headers = { host: 'localhost', accept: 'text/html', ...more }
  const request = get({ host: '127.0.0.1', port, path: '/graphql', agent: false, headers })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  server.close()
  return findKey(text)
}

it('forbids frames and caches for the page of GraphiQL', async () => {
  const { headers } = await browse(localApp, 'http://127.0.0.1/graphql')
  const policy = headers.get('content-security-policy') ?? ''
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).toContain("script-src 'self';")
  expect(headers.get('cache-control')).toBe('no-store')
})

describe('the files of GraphiQL', () => {
  const page = async () => await (await browse(localApp, 'http://127.0.0.1/graphql')).text()
  const paths = (text: string) => [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path as string)
  const scriptPath = async () => paths(await page()).find(path => path.endsWith('.js')) as string
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    localApp.fetch(new Request(`http://127.0.0.1${path}`, { method, headers }))

  it('are not inlined in the page', async () => {
    const text = await page()
    expect(text.length).toBeLessThan(25_000)
    expect(paths(text).map(path => path.replace(/[0-9a-f]{16}/, 'HASH'))).toEqual([
      '/graphiql/HASH/favicon.ico',
      '/graphiql/HASH/graphiql.css',
      '/graphiql/HASH/graphiql.js',
    ])
  })

  it('are cached forever and not sent again', async () => {
    const script = await scriptPath()
    const names = ['graphiql.js', 'graphiql.css', 'favicon.ico', 'editorWorkerService.js', 'json.js', 'graphql.js']
    for (const name of names) {
      const path = script.replace('graphiql.js', name)
      const { status, headers } = await get(path)
      expect([name, status, headers.get('cache-control'), headers.get('vary')]).toEqual([
        name,
        200,
        'public, max-age=31536000, immutable',
        'Accept-Encoding',
      ])
      const again = await get(path, { 'if-none-match': headers.get('etag') ?? '' })
      expect([again.status, await again.text()]).toEqual([304, ''])
    }
  })

  it.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const)('are compressed with %s', async (encoding, decompress) => {
    const path = await scriptPath()
    const original = Buffer.from(await (await get(path)).arrayBuffer())
    const packed = await get(path, { 'accept-encoding': encoding })
    const bytes = Buffer.from(await packed.arrayBuffer())
    expect(packed.headers.get('content-encoding')).toBe(encoding)
    expect(packed.headers.get('content-length')).toBe(String(bytes.length))
    expect(bytes.length).toBeLessThan(original.length / 3)
    expect(decompress(bytes).equals(original)).toBe(true)
  })

  it('answer GET and HEAD, but no other method or name', async () => {
    const path = await scriptPath()
    const [head, whole] = [await get(path, {}, 'HEAD'), await get(path)]
    expect(Object.fromEntries(head.headers)).toEqual({
      ...Object.fromEntries(whole.headers),
      'x-request-id': expect.any(String),
    })
    expect(await head.text()).toBe('')
    expect((await get(path, {}, 'DELETE')).status).toBe(405)
    expect((await get(`${path}x`)).status).toBe(404)
    expect((await get('/graphiql/')).status).toBe(404)
  })
})
