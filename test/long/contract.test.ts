// Contract tests that somebody else's program makes of the document, of which each asks for things that are there.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createHttpServer } from '../../src/http/server.ts'
import { findRoutes } from '../../src/rest/paths.ts'
import { routes } from '../../src/rest/routes.ts'
import { startApp, type TestApp } from '../support/app.ts'
import type { Document } from '../support/document.ts'
import { type Example, exampleOf } from '../support/examples.ts'
import type { Site } from '../support/faces-table.ts'
import { type Rentals, rentalsOf, someCredit } from '../support/rentals.ts'
import { everyRoute } from '../support/requests.ts'

const version = '2.55.1'
const hasJava = spawnSync('java', ['-version']).status === 0

let app: TestApp
let rentals: Rentals
let folder: string
let server: ReturnType<typeof createHttpServer>
const examples = new Map<string, { example: Example; site: Site }>()
const key = `berth_${'0'.repeat(10)}_${'0'.repeat(40)}`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-contract-'))
  app = await startApp()
  rentals = rentalsOf(app)
  server = createHttpServer(async request => await app.fetch(await madeLive(request))).listen(0, '127.0.0.1')
  await once(server, 'listening')
})

afterAll(async () => {
  server?.close()
  server?.closeAllConnections()
  await app?.close()
  await rm(folder, { recursive: true, force: true })
})

/** The program, which is too large to come along: from SPECMATIC_JAR, or else from the registry. */
function jar(): string {
  const given = process.env['SPECMATIC_JAR']
  if (given) return given
  execFileSync('npm', ['install', '--prefix', folder, '--no-save', '--ignore-scripts', `specmatic@${version}`])
  return join(folder, 'node_modules/specmatic/specmatic.jar')
}

const newSite = async (): Promise<Site> => ({ app, rentals, key: await app.newKey(null, someCredit) })

/** Every test has an account of its own, and what its example named is made anew there. */
async function madeLive(request: Request): Promise<Request> {
  const { method, url, headers } = request
  const { pathname } = new URL(url)
  const route = findRoutes(routes, pathname).routes.find(route => route.method === method)
  const recorded = route && examples.get(`${method} ${route.path}`)
  const body = method === 'GET' ? '' : await request.text()
  if (!recorded || !`${url}${headers.get('authorization')}`.includes(key)) return requestOf(url, method, headers, body)
  // What is only read is there still.
  const site = method === 'GET' ? recorded.site : await newSite()
  const fresh = method === 'GET' ? recorded.example : await exampleOf(route, site)
  const sent = { path: url.slice(url.indexOf('/api/')), body: readJson(body) }
  const live = replaced(sent, recorded.example, fresh)
  const to = new Headers(headers)
  if (headers.has('authorization')) to.set('authorization', `Bearer ${site.key}`)
  const text = typeof live.body === 'string' ? live.body : JSON.stringify(live.body)
  return requestOf(new URL(live.path.replaceAll(key, site.key), url).href, method, to, text)
}

function requestOf(url: string, method: string, headers: Headers, body: string): Request {
  headers.delete('content-length')
  return new Request(url, { method, headers, ...(method === 'GET' ? {} : { body }) })
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

type Sent = { path: string; body: unknown }

/** What was sent, with the parts that are those of one example replaced by those of another. */
function replaced(sent: Sent, from: Example, to: Example): Sent {
  const segments = (path: string) => path.replace(/^\/api\/v0/, '').split(/(?=[/?&=])/)
  const [was, is] = [segments(from.path), segments(to.path)]
  const path = segments(sent.path).map((part, index) => (part === was[index] ? is[index] : part))
  const prefix = sent.path.startsWith('/api/v0') ? '/api/v0' : ''
  return { path: prefix + path.join(''), body: replacedIn(sent.body, from.body, to.body) }
}

function replacedIn(sent: unknown, from: unknown, to: unknown): unknown {
  if (sent === from) return to
  if (typeof sent !== 'object' || sent === null || typeof from !== 'object' || from === null) return sent
  const [was, is] = [from, to] as Record<string, unknown>[]
  const entries = Object.entries(sent).map(([name, value]) => [name, replacedIn(value, was?.[name], is?.[name])])
  return Array.isArray(sent) ? entries.map(([, value]) => value) : Object.fromEntries(entries)
}

/** Asks every route for what is there, and keeps what was asked and answered as an example. */
async function writeExamples(): Promise<void> {
  await mkdir(join(folder, 'examples'))
  for (const [name, route] of everyRoute) {
    // What takes nothing is asked without an example.
    if (route.open && !route.query) continue
    const site = await newSite()
    const example = await exampleOf(route, site)
    const { pathname, searchParams } = new URL(example.path.replace(/^(?!\/api)/, '/api/v0'), 'http://berth.test')
    const response = await app.fetch(
      new Request(`http://berth.test${pathname}?${searchParams}`, {
        method: example.method,
        headers: { authorization: `Bearer ${site.key}`, 'content-type': 'application/json' },
        ...(example.body && { body: JSON.stringify(example.body) }),
      }),
    )
    const text = await response.text()
    const documented = route.body ?? route.documentedBody
    examples.set(name, { example, site })
    const written = {
      'http-request': {
        method: example.method,
        path: route.path.endsWith('/') ? pathname.replace(/\/?$/, '/') : pathname,
        ...(searchParams.size > 0 && { query: Object.fromEntries(searchParams) }),
        ...(route.open ? {} : { headers: { Authorization: `Bearer ${key}` } }),
        ...(documented && { body: example.body ?? {} }),
      },
      'http-response': {
        status: response.status,
        headers: { 'Content-Type': response.headers.get('content-type') },
        body: readJson(text),
      },
    }
    await writeFile(join(folder, 'examples', `${route.operationId}.json`), JSON.stringify(written))
  }
}

it.skipIf(!hasJava)('finds nothing that is not as documented', async () => {
  await writeExamples()
  const document: Document = (await app.rest(undefined, 'GET', '/openapi.json')).body
  await writeFile(
    join(folder, 'openapi.json'),
    JSON.stringify(document, (name, value) => (name === 'examples' ? undefined : value)),
  )
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const args = ['-jar', jar(), 'test', 'openapi.json', '--examples=examples', `--testBaseURL=${url}`, '--timeout=60']
  const env = {
    ...process.env,
    bearer: key,
    api_key: key,
    SPECMATIC_GENERATIVE_TESTS: 'true',
    MAX_TEST_REQUEST_COMBINATIONS: '20',
  }
  const child = spawn('java', [...args, '--junitReportDir=report'], { cwd: folder, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => {
      output += text
      appendFileSync('/work/h/spec/out.log', text)
    })
  await once(child, 'close')
  const [, ran, failed] = /Tests run: (\d+), Successes: \d+, Failures: (\d+)/.exec(output) ?? []
  process.stdout.write(`${ran} contract tests, ${failed} failed\n`)
  expect(failed).toBe('0')
})
