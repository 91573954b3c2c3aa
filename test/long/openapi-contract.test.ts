// Runs the contract tests that Specmatic derives from the OpenAPI document. Each test uses objects that exist.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createHttpServer } from '../../src/http/server.ts'
import { findRoutes } from '../../src/rest/paths.ts'
import type { Route } from '../../src/rest/route.ts'
import { routes } from '../../src/rest/routes.ts'
import { startApp, type TestApp } from '../support/app.ts'
import type { AgreementSite } from '../support/faces/agreements.ts'
import { type Rentals, rentalsOf, someCredit } from '../support/instances/rentals.ts'
import type { OpenApiDocument } from '../support/rest/answer-checker.ts'
import { createExample, type Example } from '../support/rest/examples.ts'
import { everyRoute } from '../support/rest/request-arbitraries.ts'

const version = '2.55.1'
const hasJava = spawnSync('java', ['-version']).status === 0
if (!hasJava) process.stdout.write('Java is not installed: the contract tests are skipped.\n')

let app: TestApp
let rentals: Rentals
let folder: string
let server: ReturnType<typeof createHttpServer>
const examples = new Map<string, { example: Example; site: AgreementSite }>()
const key = `berth_${'0'.repeat(10)}_${'0'.repeat(40)}`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-contract-'))
  app = await startApp()
  rentals = rentalsOf(app)
  server = createHttpServer(async request => await app.fetch(await withFreshExample(request))).listen(0, '127.0.0.1')
  await once(server, 'listening')
})

afterAll(async () => {
  server?.close()
  server?.closeAllConnections()
  await app?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Specmatic is too large to be a dependency. It comes from SPECMATIC_JAR, or else from the npm registry. */
function findSpecmaticJar(): string {
  const given = process.env['SPECMATIC_JAR']
  if (given) return given
  execFileSync('npm', ['install', '--prefix', folder, '--no-save', '--ignore-scripts', `specmatic@${version}`])
  return join(folder, 'node_modules/specmatic/specmatic.jar')
}

const createSite = async (): Promise<AgreementSite> => ({ app, rentals, key: await app.newKey(null, someCredit) })

/**
 * Moves a request that may change data to an account of its own, with new objects in place of those that its example
 * names. Other requests keep theirs.
 */
async function withFreshExample(request: Request): Promise<Request> {
  const { method, url, headers } = request
  const { pathname } = new URL(url)
  const route = findRoutes(routes, pathname).routes.find(route => route.method === method)
  const recorded = route && examples.get(`${method} ${route.path}`)
  const body = method === 'GET' ? '' : await request.text()
  if (!recorded || !`${url}${headers.get('authorization')}`.includes(key)) return requestOf(url, method, headers, body)
  // A read changes nothing, so it can use the recorded objects.
  const site = method === 'GET' ? recorded.site : await createSite()
  const fresh = method === 'GET' ? recorded.example : await createExample(route, site)
  const sent = { path: url.slice(url.indexOf('/api/')), body: readJson(body) }
  const live = replaceExample(sent, recorded.example, fresh)
  const freshHeaders = new Headers(headers)
  if (headers.has('authorization')) freshHeaders.set('authorization', `Bearer ${site.key}`)
  const text = typeof live.body === 'string' ? live.body : JSON.stringify(live.body)
  return requestOf(new URL(live.path.replaceAll(key, site.key), url).href, method, freshHeaders, text)
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

type SentRequest = { path: string; body: unknown }

/** Replaces each part of a request that equals a part of one example with the same part of the other example. */
function replaceExample(sent: SentRequest, from: Example, to: Example): SentRequest {
  const segments = (path: string) => path.replace(/^\/api\/v0/, '').split(/(?=[/?&=])/)
  const [before, after] = [segments(from.path), segments(to.path)]
  const path = segments(sent.path).map((part, index) => (part === before[index] ? after[index] : part))
  const prefix = sent.path.startsWith('/api/v0') ? '/api/v0' : ''
  return { path: prefix + path.join(''), body: replaceValues(sent.body, from.body, to.body) }
}

function replaceValues(sent: unknown, from: unknown, to: unknown): unknown {
  if (sent === from) return to
  if (typeof sent !== 'object' || sent === null || typeof from !== 'object' || from === null) return sent
  const [before, after] = [from, to] as Record<string, unknown>[]
  const entries = Object.entries(sent).map(([name, value]) => [
    name,
    replaceValues(value, before?.[name], after?.[name]),
  ])
  return Array.isArray(sent) ? entries.map(([, value]) => value) : Object.fromEntries(entries)
}

/**
 * Sends each tested route a request for existing objects, with a valid and an unknown key, and records the answers.
 */
async function writeExamples(): Promise<void> {
  await mkdir(join(folder, 'examples'))
  for (const [name, route] of everyRoute.filter(([name]) => name !== 'DELETE /api/v0/auth/apikeys/{id}/')) {
    // A route without input needs no example.
    if (route.open && !route.query) continue
    const site = await createSite()
    const example = await createExample(route, site)
    examples.set(name, { example, site })
    if (!route.open) await writeExample(`${route.operationId}-denied`, route, example, 'nobody', 'nobody')
    await writeExample(route.operationId, route, example, site.key, key)
  }
}

/** Sends the request with `usedKey`, and records it with `recordedKey`, which Specmatic sends. */
async function writeExample(name: string, route: Route, example: Example, usedKey: string, recordedKey: string) {
  const { pathname, searchParams } = new URL(example.path.replace(/^(?!\/api)/, '/api/v0'), 'http://berth.test')
  const { method, body } = example
  const request = new Request(`http://berth.test${pathname}?${searchParams}`, {
    method,
    headers: { authorization: `Bearer ${usedKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const response = await app.fetch(request)
  const sent = {
    method,
    path: pathname.replace(/\/?$/, '/'),
    ...(searchParams.size > 0 && { query: Object.fromEntries(searchParams) }),
    ...(route.open ? {} : { headers: { Authorization: `Bearer ${recordedKey}` } }),
    ...((route.body ?? route.documentedBody) && { body: body ?? {} }),
  }
  const answered = { status: response.status, body: readJson(await response.text()) }
  const file = JSON.stringify({ 'http-request': sent, 'http-response': answered })
  await writeFile(join(folder, 'examples', `${name}.json`), file)
}

/** The document for Specmatic, without examples, and without the 200 response of operations that Berth does not offer. */
function simplifyDocument(document: OpenApiDocument): unknown {
  for (const [, route] of everyRoute.filter(([, { failures }]) => failures?.some(({ status }) => status === 501))) {
    delete document.paths[route.path]?.[route.method.toLowerCase()]?.responses['200']
  }
  // Specmatic misreads the document's own schema, and expects quotes around JSON in a text.
  delete document.paths['/api/v0/openapi.json']
  delete document.paths['/api/v0/auth/apikeys/{id}/']?.['delete']
  return JSON.parse(JSON.stringify(document, (name, value) => (name === 'examples' ? undefined : value)))
}

it.skipIf(!hasJava)('answers every contract test as the OpenAPI document says', async () => {
  await writeExamples()
  const { body: document } = await app.rest(undefined, 'GET', '/openapi.json')
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(simplifyDocument(document)))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const args = [
    '-jar',
    findSpecmaticJar(),
    'test',
    'openapi.json',
    '--examples=examples',
    `--testBaseURL=${url}`,
    '--timeout=60',
  ]
  // Without generative tests: Specmatic expects every well-formed request to succeed.
  const child = spawn('java', args, { cwd: folder, env: { ...process.env, bearer: key, api_key: key } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      output += text
    })
  }
  await once(child, 'close')
  const [, ran, failed] = /Tests run: (\d+), Successes: \d+, Failures: (\d+)/.exec(output) ?? []
  process.stdout.write(`${ran} contract tests, of which ${failed} failed\n`)
  const failures = output.split('\n').filter(line => line.includes('has FAILED'))
  expect([failures, failed]).toEqual([[], '0'])
  expect(Number(ran)).toBeGreaterThanOrEqual(examples.size)
})
