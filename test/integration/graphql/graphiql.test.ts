import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cleanUpTab, type Tab } from '../../../src/graphql/graphiql/clean-up.ts'
import { titleOf } from '../../../src/graphql/graphiql/hand-on.ts'
import { tabs } from '../../../src/graphql/graphiql/tabs.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'
import { openGraphiqlPage } from '../../support/graphiql-page.ts'

let folder: string
let marketApp: TestApp
let app: TestApp

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-graphiql-'))
  marketApp = await startApp()
  // The demo market adds no machines to a database that already has a machine.
  const addresses = ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4']
  await listMachines(
    marketApp.operations,
    addresses.map(publicIp => ({ machine: { publicIp } })),
  )
  const demo = { databaseUrl: marketApp.database.url, graphiql: true, demoKeyFile: join(folder, 'demo-key') }
  app = await startApp(demo)
})

afterAll(async () => {
  for (const one of [app, marketApp]) await one.close()
  await rm(folder, { recursive: true })
})

const browse = async (one: TestApp, url: string, headers: Record<string, string> = {}) =>
  await one.fetch(new Request(url, { headers: { accept: 'text/html', ...headers } }))

describe('the page of GraphiQL', () => {
  it('has no key, whoever asks for it, also if there is a demo key', async () => {
    const key = await readFile(join(folder, 'demo-key'), 'utf8')
    expect(key).toMatch(/^berth_\w{12}_\w{40}$/)
    const pages = [
      await browse(app, 'http://127.0.0.1:4000/graphql'),
      await browse(app, 'http://evil.example.com/graphql'),
      await browse(app, 'http://127.0.0.1/graphql', { 'x-forwarded-for': '192.0.2.1' }),
      await browse(app, `http://127.0.0.1/graphql?key=${key}`, { authorization: `Bearer ${key}` }),
    ]
    const texts = await Promise.all(pages.map(page => page.text()))
    for (const text of texts) expect(text).not.toMatch(/berth_\w+/)
    expect(new Set(texts).size).toBe(1)
    expect(JSON.stringify(pages.map(({ headers }) => [...headers]))).not.toContain('berth_')
  })

  it('says where its key comes from', async () => {
    const page = await (await browse(app, 'http://127.0.0.1/graphql')).text()
    expect(page).toContain('Open the link that Berth names when it starts, or paste a key')
  })
})

it('forbids frames and caches for the page of GraphiQL', async () => {
  const { headers } = await browse(app, 'http://127.0.0.1/graphql')
  const policy = headers.get('content-security-policy') ?? ''
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).toContain("script-src 'self';")
  expect(headers.get('cache-control')).toBe('no-store')
})

describe('the files of GraphiQL', () => {
  const page = async () => await (await browse(app, 'http://127.0.0.1/graphql')).text()
  const paths = (text: string) => [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path as string)
  const scriptPath = async () => paths(await page()).find(path => path.endsWith('.js')) as string
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    app.fetch(new Request(`http://127.0.0.1${path}`, { method, headers }))

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

type Refusable = { code?: string; items?: { error: object | null }[] }

it('has tabs that run one after another, however often, of which the last removes what the others made', async () => {
  const key = await marketApp.newKey(null, { creditNanos: 100_000_000_000n })
  const page = openGraphiqlPage()
  /** The tabs as they were left. */
  const left = new Map<Tab, Tab>()
  const run = async (tab: Tab) => {
    page.show(left.get(tab) ?? tab)
    const answer = await marketApp.graphql(key, page.operation(), JSON.parse(page.variables() || '{}'))
    const refusals = Object.values<Refusable | null>(answer.data ?? {}).filter(
      one => (one?.code ?? one?.items?.find(({ error }) => error)) && one?.code !== 'CONFLICT',
    )
    expect([titleOf(tab), answer.errors, refusals]).toEqual([titleOf(tab), undefined, []])
    await page.answer(titleOf(tab), answer.data)
    left.set(tab, { query: page.operation(), variables: page.variables() })
  }
  const others = tabs.filter(tab => tab !== cleanUpTab && !/^subscription/m.test(tab.query))
  const countsOfMade = async () => {
    const { data } = await marketApp.graphql(key, everything)
    const { sshKeys, apiKeys } = data.viewer.account
    return [
      data.instances.totalCount,
      data.volumes.totalCount,
      data.templates.totalCount,
      sshKeys.length,
      apiKeys.length,
    ]
  }
  const before = await countsOfMade()
  for (const round of [1, 2]) {
    for (const tab of [...others, ...others]) await run(tab)
    expect([round, ...(await countsOfMade())]).toEqual([round, 4, 2, 1, 1, 3])
    const { data } = await marketApp.graphql(key, '{ instances(first: 1) { nodes { id } } }')
    // One is gone already, and the page does not know.
    const { id } = data.instances.nodes[0]
    await marketApp.graphql(key, `mutation { destroyInstance(input: { id: "${id}" }) { __typename } }`)
    await run(cleanUpTab)
    if (left.get(cleanUpTab)?.query !== cleanUpTab.query) await run(cleanUpTab)
    expect(await countsOfMade()).toEqual(before)
  }
})

const everything = `{
  instances(first: 1) { totalCount }
  volumes(first: 1) { totalCount }
  templates(first: 1, filter: { mine: true }) { totalCount }
  viewer { account { sshKeys { id } apiKeys { id } } }
}`
