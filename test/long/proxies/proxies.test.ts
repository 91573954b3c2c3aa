// Gateways behind Debian's nginx and Caddy, with the configurations under docs/proxies.

import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect as connectHttp2 } from 'node:http2'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { measureSpeeds } from '../../../src/host/speed.ts'
import { listMachines } from '../../support/factories.ts'
import { joinAsHost, openSimulatedHost, startAgent } from '../../support/machines/hosts.ts'
import { spawnProgram } from '../../support/processes/programs.ts'
import type { ProxyKind } from '../../support/proxies/configuration.ts'
import { startLoad } from '../../support/proxies/load.ts'
import { findProxies } from '../../support/proxies/proxy.ts'
import { drainSeconds, openProxySite, type ProxySite } from '../../support/proxies/site.ts'
import { newRunningInstance } from '../../support/ssh/instances.ts'
import { type Subscription, subscribeSse, subscribeWebSocket } from '../../support/streams.ts'

const programs = await findProxies()
const slowly = { timeout: 60_000, interval: 100 }
/** Proxies give up on an answer in which nothing moves for a minute. */
const quietMs = 75_000

describe.each(['nginx', 'caddy'] as const)('behind %s', kind => {
  describe.skipIf(!programs[kind])('two gateways', () => behind(kind))
})

function behind(kind: ProxyKind): void {
  let site: ProxySite
  let key: string
  let auth: Record<string, string>

  beforeAll(async () => {
    site = await openProxySite(kind, programs[kind] ?? [])
    key = site.apiKey
    auth = { authorization: `Bearer ${key}` }
  })
  afterAll(() => site?.close())

  const ask: ProxySite['client']['ask'] = asked => site.client.ask(asked)
  async function rest(method: string, path: string, body?: object) {
    const { text } = await ask({ method, path: `/api/v0${path}`, headers: auth, body: body && JSON.stringify(body) })
    return JSON.parse(text)
  }
  async function graphql(query: string, from?: string) {
    const body = JSON.stringify({ query })
    const { text } = await ask({ method: 'POST', path: '/graphql', headers: auth, body, ...(from && { from }) })
    return JSON.parse(text)
  }
  async function rent(): Promise<number> {
    const { offers } = await rest('POST', '/bundles/', { limit: 1 })
    const { new_contract: id } = await rest('PUT', `/asks/${offers[0].id}/`, { image: 'ubuntu' })
    const status = async () => (await rest('GET', `/instances/${id}/`)).instances.actual_status
    await expect.poll(status, slowly).toBe('running')
    return id
  }
  const nameTemplate = (name: string) =>
    graphql(`mutation { createTemplate(input: { name: "${name}", image: "ubuntu" }) { __typename } }`)

  async function untilTemplate({ next }: Pick<Subscription, 'next'>): Promise<void> {
    for (;;) {
      const result = await next()
      if (!result) throw new Error('The stream ended.')
      if (result.data?.events.node.kind === 'TEMPLATE_CREATED') return
    }
  }

  it('satisfy the doctor, but for a certificate that ends in two days', async () => {
    const file = join(site.env.BERTH_DATA_DIR, 'proxy.crt')
    await writeFile(file, site.certificate)
    const env = { ...site.env, PORT: '0', NODE_EXTRA_CA_CERTS: file }
    const doctor = spawnProgram('src/cli.ts', ['doctor', '--url', site.url], env)
    expect([await doctor.exit, doctor.errors()]).toEqual([0, ''])
    const checks = doctor
      .output()
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as { name: string; state: string })
    const states = checks.flatMap(({ name, state }) => (/^(proxy|certificate)/.test(name) ? [`${state} ${name}`] : []))
    expect(states).toEqual([
      ...['ok proxy', 'warn certificate', 'ok proxy origin', 'ok proxy client', 'ok proxy body', 'ok proxy sockets'],
      'ok proxy streams',
    ])
  })

  it('answer GraphQL and REST, over HTTP/1.1 and HTTP/2, also at paths with two slashes', async () => {
    expect(await graphql('{ viewer { account { email } } }')).toMatchObject({ data: { viewer: expect.anything() } })
    expect((await ask({ path: '//api/v0/users/current/', headers: auth })).status).toBe(200)
    const session = connectHttp2(site.url)
    const stream = session.request({ ':path': '/api/v0/users/current/', ...auth })
    const [headers] = await once(stream, 'response')
    expect(headers[':status']).toBe(200)
    session.destroy()
  })

  it('name the public host and scheme in every link, whatever a client claims', async () => {
    const forged = { 'x-forwarded-host': 'evil.example.com', 'x-forwarded-proto': 'http', forwarded: 'host=evil' }
    const index = await ask({ path: '/api/v0/', headers: { ...auth, ...forged } })
    expect(index.text).not.toContain('evil')
    const links = Object.values(JSON.parse(index.text)).filter(value => String(value).includes('://'))
    expect(links.length).toBeGreaterThan(0)
    for (const link of links) expect(link).toMatch(`${site.url}/`)
    const id = await rent()
    const path = `/api/v0/instances/request_logs/${id}/`
    const asked = await ask({ method: 'PUT', path, headers: { ...auth, ...forged }, body: '{}' })
    const { result_url: url } = JSON.parse(asked.text)
    expect(url).toMatch(`${site.url}/api/v0/results/?token=`)
    const log = await ask({ path: url.slice(site.url.length) })
    expect([log.status, log.headers['content-type']]).toEqual([200, expect.stringContaining('text/plain')])
    expect(log.text.length).toBeGreaterThan(0)
  })

  it('send events at once over both transports, also after more than a minute of silence', async () => {
    const query = 'subscription { events { cursor node { kind } } }'
    const url = `${site.url.replace('http', 'ws')}/graphql`
    const client = createClient({ url, connectionParams: auth, webSocketImpl: WebSocket, retryAttempts: 0 })
    const streams: Omit<Subscription, 'status'>[] = [
      await subscribeSse(fetch, key, query, { url: `${site.url}/graphql` }),
      await subscribeSse(fetch, key, query, { url: `${site.url}/graphql`, method: 'GET' }),
      subscribeWebSocket(client, query),
    ]
    for (const silenceMs of [1_000, quietMs]) {
      const created = streams.map(untilTemplate)
      await sleep(silenceMs)
      const sentMs = performance.now()
      await nameTemplate(`after ${silenceMs}`)
      await Promise.all(created)
      expect(performance.now() - sentMs).toBeLessThan(10_000)
    }
    for (const stream of streams) await stream.close()
    await client.dispose()
  })

  it('let a host join through the proxy, measure its line, and stay connected', async () => {
    const { inside, database, url } = site
    await listMachines(inside.operations, [{}])
    const [machine] = await inside.sql('SELECT max(id)::int AS id FROM machines')
    const { token } = await inside.operations.machines.invite(Number(machine?.['id']), {
      gpuAccess: 'none',
      validMs: 60_000,
    })
    const speeds = await measureSpeeds(url, token)
    expect(speeds).toMatchObject({ downloadMbps: expect.any(Number), uploadMbps: expect.any(Number) })
    const { key: hostKey } = await joinAsHost(url, { token })
    const host = openSimulatedHost(database.url)
    const agent = startAgent({ gateway: url, key: hostKey, provider: host.provider })
    await expect.poll(agent.connections, slowly).toBe(1)
    await sleep(15_000)
    expect([agent.connections(), agent.failure()]).toEqual([1, undefined])
    await agent.stop()
    await host.close()
  })

  it('show nobody the demo key, and no metrics', async () => {
    const page = await ask({ path: '/graphql', headers: { accept: 'text/html' } })
    expect(page.status).toBe(200)
    const files = [...page.text.matchAll(/(?:src|href)="(\/graphiql\/[^"]+)"/g)].map(([, path]) => path as string)
    expect(files.length).toBeGreaterThan(0)
    const paths = ['/', '/health', '/ready', '/api/v0/', '/api/v0/docs/', '/api/v0/openapi.json', '/nowhere', ...files]
    for (const path of paths) {
      const { text, headers } = await ask({ path, headers: { accept: 'text/html' } })
      expect(text + JSON.stringify(headers)).not.toContain(site.demoKey)
    }
    expect(page.text + site.log() + site.printed()).not.toContain(site.demoKey)
    for (const path of ['/metrics', '//metrics', '/%6detrics', '/metrics?x']) {
      const { status, text } = await ask({ path })
      expect([path, status, text.includes('berth_')]).toEqual([path, 404, false])
    }
  })

  it('limit each client by its own address, which it cannot forge', async () => {
    const guess = async (from: string, forged: string) => {
      const headers = { authorization: 'Bearer wrong', 'x-forwarded-for': forged, 'x-real-ip': forged }
      return (await ask({ path: '/api/v0/users/current/', headers, from })).status
    }
    const statuses: number[] = []
    for (let n = 0; n < 1_000 && statuses.at(-1) !== 429; n += 1)
      statuses.push(...(await Promise.all([0, 1, 2, 3].map(m => guess('127.0.0.66', `192.0.2.${(4 * n + m) % 250}`)))))
    expect(statuses.at(-1)).toBe(429)
    expect(await guess('127.0.0.67', '127.0.0.66')).toBe(401)
    expect((await ask({ path: '/api/v0/users/current/', headers: auth, from: '127.0.0.66' })).status).toBe(200)
    await expect.poll(site.log, slowly).toContain('"address":"127.0.0.66"')
    expect(site.log()).not.toContain('192.0.2.')
  })

  it.each([
    ['/graphql', 150_000],
    ['/graphql', 5_000_000],
    ['/api/v0/bundles/', 150_000],
    ['/api/v0/bundles/', 5_000_000],
  ])('refuse a body that is too large in their own words: %s with %i bytes', async (path, bytes) => {
    const body = JSON.stringify({ query: 'x'.repeat(bytes) })
    const answer = await ask({ method: 'POST', path, headers: auth, body })
    expect(answer.status).toBe(413)
    expect(answer.text).toMatch(path === '/graphql' ? 'Request body too large' : 'larger than 100000 bytes')
  })

  it('serve notebooks, with bodies of any size, sockets, and the address of the client', async () => {
    const id = await newRunningInstance(site.inside, [], { mode: 'jupyterProxy' })
    const host = `ins-${id}.notebooks.localhost`
    const { token = '' } = (await site.notebooks.services.find(id)) ?? {}
    expect((await ask({ path: '/lab', host })).status).toBe(401)
    const opened = await ask({ path: `/headers?token=${token}`, host, from: '127.0.0.5' })
    expect(opened.headers['set-cookie']?.join()).toContain('Secure')
    const { rawHeaders } = JSON.parse(opened.text) as { rawHeaders: string[] }
    expect(rawHeaders[rawHeaders.indexOf('X-Forwarded-For') + 1]).toBe('127.0.0.5')
    const authorization = `token ${token}`
    const body = Buffer.alloc(20_000_000, 'x')
    expect((await ask({ path: '/length', method: 'POST', host, headers: { authorization }, body })).text).toBe(
      '20000000',
    )
    expect((await ask({ path: '/big', host, headers: { authorization } })).status).toBe(200)
    const { port } = new URL(site.url)
    const socket = new WebSocket(`wss://127.0.0.1:${port}/socket`, {
      headers: { host: `${host}:${port}`, authorization },
      agent: new Agent({ servername: host }),
    })
    await once(socket, 'open')
    socket.send('hello')
    expect(String((await once(socket, 'message'))[0])).toBe('hello')
    socket.close()
  })

  it('restart one after the other, and no request fails', async () => {
    const load = startLoad(site.client, site)
    for (const place of [0, 1, 0, 1] as const) {
      expect(await site.restart(place, 'SIGTERM')).toBe(0)
      // A proxy that asks each second has seen that it is back.
      await sleep(3_000)
    }
    const { outcomes, failed } = await load.stop()
    // A slow machine keeps the database busy.
    expect(failed.filter(({ text }) => !text.includes('did not answer in time'))).toEqual([])
    expect(outcomes.length).toBeGreaterThan(500)
    await expectOnce(load)
  })

  it('are killed, and no request is executed twice, or fails without a word on whether it was', async () => {
    const load = startLoad(site.client, site)
    for (const place of [0, 1] as const) {
      await sleep(2_000)
      await site.restart(place, 'SIGKILL')
      await sleep(drainSeconds * 1_000)
    }
    const { outcomes, failed } = await load.stop()
    process.stdout.write(`${kind}: ${failed.length} of ${outcomes.length} requests failed when gateways were killed.\n`)
    for (const { changes, status, text } of failed) {
      if (status === 503) expect(text).toContain('unavailable')
      else expect([changes, status, text]).toEqual([true, 409, expect.stringContaining('outcome_unknown')])
    }
    await expectOnce(load)
  })

  /** Each volume that an answer has promised is there, and none is there twice. */
  async function expectOnce({ stop, volumesSql }: ReturnType<typeof startLoad>): Promise<void> {
    const { volumes } = await stop()
    const made = await site.inside.sql(volumesSql)
    expect(made.filter(({ count }) => count !== 1)).toEqual([])
    const promised = volumes.filter(({ status }) => status === 200).length
    expect(made.length).toBeGreaterThanOrEqual(promised)
    expect(made.length).toBeLessThanOrEqual(volumes.length)
  }

  it('answer that they are unavailable, with a time to wait, whether a database or all of them are missing', async () => {
    await site.database.drop()
    const unavailable = async () => {
      const { status, headers, text } = await ask({ path: '/api/v0/users/current/', headers: auth })
      return [status, Number(headers['retry-after']) > 0, text.includes('"success":false')]
    }
    await expect.poll(unavailable, slowly).toEqual([503, true, true])
    await Promise.all([site.end(0, 'SIGKILL'), site.end(1, 'SIGKILL')])
    await expect.poll(unavailable, slowly).toEqual([503, true, true])
  })

  it.runIf(kind === 'nginx')('lead to https who comes without', async () => {
    const answer = await fetch(`${site.plainUrl}/graphql?x=1`, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([301, 'https://localhost/graphql?x=1'])
  })
}
