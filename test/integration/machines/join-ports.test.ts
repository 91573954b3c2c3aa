// Whether a gateway reaches the public ports of a host that joins. All of it on this computer, over real sockets.

import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openPorts } from '../../../src/host/ports.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'
import { engineFacts, joinAsHost } from '../../support/machines/hosts.ts'
import { serveApp } from '../../support/streams.ts'

let app: TestApp
let server: Awaited<ReturnType<typeof serveApp>>
let machineId = 0
let token: string
const [firstPort, lastPort] = [27_100, 27_199]
const open = new Set<{ close(): void }>()

beforeAll(async () => {
  app = await startApp()
  server = await serveApp(app)
})

afterAll(async () => {
  await server.close()
  await app.close()
})

beforeEach(async () => {
  machineId += 1
  await listMachines(app.operations, [{ machine: { publicIp: `127.0.1.${machineId}`, firstPort, lastPort } }])
  token = await invite()
})

afterEach(() => {
  for (const one of open) one.close()
  open.clear()
})

const invite = async (allowsUnreachablePorts = false) =>
  (await app.operations.machines.invite(machineId, { gpuAccess: 'none', validMs: 60_000, allowsUnreachablePorts }))
    .token
const publicIp = () => `127.0.1.${machineId}`
const engine = async () => (await app.sql('SELECT * FROM engines WHERE machine_id = $1', [machineId]))[0]
const warnings = () => app.logLines.filter(line => line['machineId'] === machineId).map(({ msg }) => msg)
const answer = 'n'.repeat(43)

/** Says that these ports are open, whether they are or not. */
const claim = (ports: number[]) => async () => ({ listening: { ports, answer }, close() {} })

/** Listens on a free port of this computer, or of the address. Counts who connects. */
async function listenAs(
  serve: (socket: Socket) => void,
  port = 0,
  host?: string,
): Promise<{ port: number; count(): number }> {
  const sockets = new Set<Socket>()
  let count = 0
  const listening: Server = createServer(socket => {
    count += 1
    sockets.add(socket.on('error', () => {}))
    serve(socket)
  }).listen(port, host)
  await once(listening, 'listening')
  open.add({
    close() {
      listening.close()
      for (const socket of sockets) socket.destroy()
    },
  })
  return { port: (listening.address() as AddressInfo).port, count: () => count }
}

async function send(body: object): Promise<{ status: number; msg: string; warnings: string[] }> {
  const response = await fetch(`${server.url}/host/join`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ key: `berth_host_${'k'.repeat(43)}`, facts: engineFacts(token), gpuUuids: [], ...body }),
  })
  return { status: response.status, ...(await response.json()) }
}

describe('a host', () => {
  it('joins without a warning if the gateway reaches its ports, and closes them again', async () => {
    let opened: number[] = []
    const host = await joinAsHost(server.url, {
      token,
      openPorts: async range => {
        const ports = await openPorts(range)
        opened = ports.listening.ports
        return ports
      },
    })
    expect([host.machineId, host.warnings, warnings()]).toEqual([machineId, [], []])
    expect(opened.length).toBe(5)
    expect(Math.min(...opened)).toBeGreaterThanOrEqual(firstPort)
    expect(Math.max(...opened)).toBeLessThanOrEqual(lastPort)
    for (const port of opened) {
      const [error] = await once(connect(port, publicIp()), 'error').catch(error => [error])
      expect(error).toMatchObject({ code: 'ECONNREFUSED' })
    }
  })

  it('is refused if nothing answers at its ports, and may join once they are open', async () => {
    await expect(joinAsHost(server.url, { token, openPorts: claim([27_150, 27_101]) })).rejects.toThrow(
      `publicIp: is ${publicIp()}, but nothing answered the gateway at ports 27101, 27150. ` +
        `Open the TCP ports 27100 to 27199 in the firewall, and lead them from ${publicIp()} to this host.`,
    )
    expect(await engine()).toBeUndefined()
    await joinAsHost(server.url, { token, openPorts })
    expect(await engine()).toMatchObject({ identity: `engine of ${token}` })
  })

  it.each<[string, string, (socket: Socket) => void]>([
    ['is silent', 'nothing answered the gateway at port 27150.', () => {}],
    ['hangs up', 'nothing answered the gateway at port 27150.', socket => socket.end()],
    ['breaks off', 'nothing answered the gateway at port 27150.', socket => socket.resetAndDestroy()],
    [
      'sends another answer',
      'another program or computer answered at port 27150.',
      socket => socket.end('x'.repeat(43)),
    ],
    [
      'sends more than the answer',
      'another program or computer answered at port 27150.',
      socket => socket.end(`${answer}x`),
    ],
    [
      'sends without end',
      'another program or computer answered at port 27150.',
      socket => {
        const more = () => void (socket.destroyed || socket.write('x'.repeat(65_536), more))
        more()
      },
    ],
  ])('is refused if a port %s', async (_, problem, serve) => {
    await listenAs(serve, 27_150, publicIp())
    await expect(joinAsHost(server.url, { token, openPorts: claim([27_150]) })).rejects.toThrow(problem)
    expect(await engine()).toBeUndefined()
  })

  it('joins with a warning to both sides if the operator allows ports that cannot be reached', async () => {
    token = await invite(true)
    const warning = `publicIp: is ${publicIp()}, but nothing answered the gateway at port 27150.`
    const host = await joinAsHost(server.url, { token, openPorts: claim([27_150]) })
    expect(host.warnings).toEqual([expect.stringContaining(warning)])
    expect(warnings()).toEqual([expect.stringContaining(warning)])
  })

  it('joins with a warning if all its ports are taken', async () => {
    const host = await joinAsHost(server.url, { token, openPorts: claim([]) })
    expect(host.warnings).toEqual(['Its public ports were not tried: the host found none that is free.'])
  })

  it('joins with a warning if its version of Berth opens no ports', async () => {
    const warning = 'Its public ports were not tried: the host opened none, as older versions of Berth do.'
    expect(await send({})).toEqual({ status: 200, machineId, warnings: [warning] })
    expect(warnings()).toEqual([`A host has joined. ${warning}`])
  })

  it('joins a gateway of an older version, which does not say which ports the machine has', async () => {
    const paths: string[] = []
    const older = createHttpServer((request, response) => {
      paths.push(`${request.method} ${request.url}`)
      response.statusCode = request.url === '/host/join' ? 200 : 404
      response.end(JSON.stringify({ machineId: 17 }))
    }).listen(0, '127.0.0.1')
    open.add(older)
    await once(older, 'listening')
    const url = `http://127.0.0.1:${(older.address() as AddressInfo).port}`
    const openPorts = () => Promise.reject(new Error('No port must be opened.'))
    expect(await joinAsHost(url, { token, openPorts })).toMatchObject({ machineId: 17, warnings: [] })
    expect(paths).toEqual(['GET /host/invitation', 'POST /host/join'])
  })
})

describe('a hostile host', () => {
  it('lets the gateway connect only to ports of its machine', async () => {
    const inside = await listenAs(() => {}, 27_150, publicIp())
    const outside = await listenAs(() => {})
    const message = "ports: must be at most 5 from 27100 to 27199, which are the machine's."
    for (const ports of [[27_150, outside.port], [27_099], [27_200], [1], [65_535], Array(6).fill(27_150)])
      expect(await send({ listening: { ports, answer } })).toMatchObject({
        status: 400,
        msg: expect.stringContaining(message),
      })
    for (const listening of [{ ports: [0], answer }, { ports: [1.5], answer }, { ports: [27_150], answer: '' }, null])
      expect((await send({ listening })).status).toBe(400)
    expect([inside.count(), outside.count()]).toEqual([0, 0])
    expect(await engine()).toBeUndefined()
  })

  it('lets the gateway try its ports once at a time', async () => {
    const silent = await listenAs(() => {}, 27_150, publicIp())
    const listening = { ports: [27_150], answer }
    const answers = await Promise.all([1, 2, 3].map(() => send({ listening })))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([400, 409, 409])
    expect(answers.filter(({ msg }) => msg.includes('are being tried. Try again in a moment.'))).toHaveLength(2)
    expect(silent.count()).toBe(1)
  })

  it('lets the gateway try its ports 20 times in ten minutes', async () => {
    const other = await listenAs(socket => socket.end('x'.repeat(43)), 27_150, publicIp())
    const listening = { ports: [27_150], answer }
    for (let count = 0; count < 20; count += 1) expect((await send({ listening })).status).toBe(400)
    token = await invite()
    const msg = 'The ports of this machine were tried 20 times in ten minutes. Try again later.'
    expect(await send({ listening })).toMatchObject({ status: 409, msg })
    expect(other.count()).toBe(20)
    expect(await engine()).toBeUndefined()
  })

  it('learns with a token which ports its machine has, and nothing without one', async () => {
    const ask = async (secret: string) => {
      const response = await fetch(`${server.url}/host/invitation`, { headers: { authorization: `Bearer ${secret}` } })
      return [response.status, await response.json()]
    }
    expect(await ask(token)).toEqual([200, { machineId, firstPort, lastPort }])
    await invite()
    for (const secret of [token, `berth_invite_${'A'.repeat(43)}`, 'no token'])
      expect(await ask(secret)).toMatchObject([401, { error: 'unauthenticated' }])
  })
})

it('opens other ports in place of those that are taken', async () => {
  const taken = await listenAs(() => {}, 27_201)
  const ports = await openPorts({ firstPort: taken.port, lastPort: taken.port + 1 })
  open.add(ports)
  expect(ports.listening.ports).toEqual([27_202])
  const [bytes] = await once(connect(27_202, '127.0.0.1'), 'data')
  expect(String(bytes)).toBe(ports.listening.answer)
})
