// WebSockets of notebooks, and what ends requests that are open.

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { Provider } from '../../../src/providers/provider.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type NotebookService, serveNotebooks } from '../../support/notebooks/market.ts'
import { big, startNotebook } from '../../support/notebooks/notebook.ts'
import { newRunningInstance } from '../../support/ssh/instances.ts'

let database: TestDatabase
let gateway: Gateway
let notebook: Awaited<ReturnType<typeof startNotebook>>
let service: NotebookService

beforeAll(async () => {
  database = await createDatabase()
  gateway = openGateway({ url: database.url, delayFactor: 0 })
  notebook = await startNotebook()
  service = await serveNotebooks({ gateway, provider: notebook.provider, limits: { checkMs: 50 } })
})

afterAll(async () => {
  service.close()
  notebook.close()
  await gateway.close()
  await database.drop()
})

async function rent() {
  const id = await newRunningInstance(gateway, [], { mode: 'jupyterProxy' })
  const access = await service.services.find(id)
  const host = `ins-${id}.notebooks.example.com`
  const cookie = `berth-notebook=${access?.cookie}`
  return { id, host, cookie, headers: { host, cookie, origin: `http://${host}` }, token: access?.token ?? '' }
}

const connect = (headers: Record<string, string>, path = '/socket', at = service) => {
  const socket = new WebSocket(`ws://127.0.0.1:${at.port}${path}`, { headers })
  socket.on('error', () => {})
  return socket
}

const closeOf = (emitter: NodeJS.EventEmitter) => new Promise<void>(resolve => emitter.once('close', () => resolve()))

async function statusOf(socket: WebSocket): Promise<number> {
  const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
  answer.resume()
  await once(answer, 'end')
  return answer.statusCode ?? 0
}

describe('a WebSocket', () => {
  it('is carried both ways, with great messages', async () => {
    const { headers, host } = await rent()
    const socket = connect({ ...headers, 'x-forwarded-for': '9.9.9.9' }, '/socket?x=1')
    await once(socket, 'open')
    socket.send('hello')
    expect(String((await once(socket, 'message'))[0])).toBe('hello')
    socket.send(big)
    const [echoed] = await once(socket, 'message')
    expect(Buffer.compare(echoed, big)).toBe(0)
    const { url, headers: seen } = notebook.seen.requests.at(-1) as IncomingMessage
    expect([url, seen.host, seen.origin, seen.cookie]).toEqual(['/socket?x=1', host, `http://${host}`, undefined])
    expect([seen['x-forwarded-for'], seen.connection]).toEqual(['127.0.0.1', 'Upgrade'])
    socket.close(1000, 'done')
    const [code, reason] = await once(socket, 'close')
    expect([code, String(reason)]).toEqual([1000, 'done'])
  })

  it('is let in by a token in its address', async () => {
    const { host, token } = await rent()
    const socket = connect({ host }, `/socket?token=${token}`)
    await once(socket, 'open')
    socket.terminate()
  })

  it.each<[what: string, status: number, headers: (of: { host: string; cookie: string }) => Record<string, string>]>([
    ['without a token', 401, ({ host }) => ({ host })],
    ['with a wrong cookie', 401, ({ host }) => ({ host, cookie: 'berth-notebook=x' })],
    ['of another site', 403, ({ host, cookie }) => ({ host, cookie, origin: 'http://evil.example.com' })],
    ['to no notebook', 404, ({ cookie }) => ({ host: 'example.com', cookie })],
  ])('is refused %s', async (_, status, headers) => {
    const known = await rent()
    const before = notebook.seen.requests.length
    expect(await statusOf(connect(headers(known)))).toBe(status)
    expect(notebook.seen.requests.length).toBe(before)
  })

  it('that the notebook refuses is refused with its answer', async () => {
    const { headers } = await rent()
    expect(await statusOf(connect(headers, '/no-socket'))).toBe(403)
  })

  it('ends in the container when the client is gone', async () => {
    const { headers } = await rent()
    const cutOff = notebook.seen.cutOff
    const socket = connect(headers)
    await once(socket, 'open')
    socket.terminate()
    await expect.poll(() => notebook.seen.cutOff).toBe(cutOff + 1)
  })

  it('ends when the container is gone, and when the gateway stops', async () => {
    const { headers } = await rent()
    const remotes: { destroy(): void }[] = []
    const provider: Pick<Provider, 'connect'> = {
      async connect() {
        const remote = await notebook.provider.connect()
        remotes.push(remote)
        return remote
      },
    }
    const stopping = await serveNotebooks({ gateway, provider })
    const sockets = [connect(headers, '/a', stopping), connect(headers, '/b', stopping)]
    await Promise.all(sockets.map(socket => once(socket, 'open')))
    const [first, second] = sockets.map(closeOf)
    remotes[0]?.destroy()
    await Promise.race([first, second])
    stopping.face.stop()
    await Promise.all([first, second])
    await closeOf(connect(headers, '/c', stopping))
    stopping.close()
  })
})

describe('what is open', () => {
  type Rented = Awaited<ReturnType<typeof rent>>
  const change = (set: string) => (of: Rented) =>
    gateway.sql(`UPDATE instances SET ${set} WHERE id = $1`, [String(of.id)])

  it.each<[what: string, end: (of: Rented) => Promise<unknown>, status: number]>([
    ['stops', change(`status = 'stopping', target_state = 'stopped'`), 503],
    [
      'gets another token',
      change(`launch = jsonb_set(launch, '{env}', '[{"name": "JUPYTER_TOKEN", "value": "another"}]')`),
      401,
    ],
    [
      'is destroyed',
      async ({ id }) => {
        const [row] = await gateway.sql('SELECT account_id, api_key_id FROM instances WHERE id = $1', [String(id)])
        const [accountId, apiKeyId] = [row?.['account_id'], row?.['api_key_id']] as [number, number]
        await gateway.services.instances.destroy(
          { accountId, apiKeyId, publicId: '', permissions: null },
          { ids: [id] },
        )
      },
      401,
    ],
  ])('ends when the instance %s', async (_, end, status) => {
    const rented = await rent()
    const socket = connect(rented.headers)
    await once(socket, 'open')
    const outgoing = service.open({ host: rented.host, path: '/endless', headers: { cookie: rented.cookie } })
    outgoing.on('error', () => {}).end()
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    answer.on('error', () => {}).resume()
    const other = connect((await rent()).headers)
    await once(other, 'open')
    const ended = [socket, answer].map(closeOf)
    await end(rented)
    await Promise.all(ended)
    expect((await service.ask({ host: rented.host, headers: { cookie: rented.cookie } })).status).toBe(status)
    expect(other.readyState).toBe(WebSocket.OPEN)
    other.terminate()
  })

  it('is told in the log and in the metrics, without paths and tokens', async () => {
    const { host, headers, token, id } = await rent()
    const counted = await serveNotebooks({ gateway, provider: notebook.provider })
    await counted.ask({ host, path: `/secret-path?token=${token}` })
    await counted.ask({ host })
    const socket = connect(headers, '/socket', counted)
    await once(socket, 'open')
    const samples = () =>
      Object.fromEntries(
        counted.face
          .metrics()
          .flatMap(({ name, samples }) => samples.map(({ labels, value }) => [labels?.['outcome'] ?? name, value])),
      )
    expect(samples()).toEqual({
      ...{ berth_notebook_connections: 1, answered: 1, refused: 1, unreachable: 0, unfinished: 0, limited: 0 },
    })
    socket.terminate()
    await expect.poll(samples).toMatchObject({ berth_notebook_connections: 0, answered: 2 })
    const lines = gateway.lines.filter(({ msg, instanceId }) => msg === 'notebook' && instanceId === String(id))
    expect(lines).toMatchObject([
      {
        method: 'GET',
        websocket: false,
        status: 200,
        outcome: 'answered',
        address: '127.0.0.1',
        ms: expect.any(Number),
      },
      { method: 'GET', websocket: true, status: 101, outcome: 'answered' },
    ])
    expect(JSON.stringify(gateway.lines)).not.toMatch(new RegExp(`secret-path|${token}`))
    counted.close()
  })
})
