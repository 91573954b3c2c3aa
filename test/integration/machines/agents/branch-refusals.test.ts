// Second connections that are refused, by gateways and by hosts.

import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createBranches } from '../../../../src/host/branches.ts'
import { MachineElsewhere } from '../../../../src/providers/agent/provider.ts'
import type { Provider } from '../../../../src/providers/provider.ts'
import { requestServices } from '../../../../src/services/machines/agents/requests.ts'
import { createSecrets } from '../../../../src/services/secrets.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'
import { listMachines } from '../../../support/factories.ts'
import { type AgentGateway, openAgentGateway } from '../../../support/machines/agent-gateway.ts'
import { newHostKey } from '../../../support/machines/hosts.ts'

let testDatabase: TestDatabase
let here: AgentGateway
let there: AgentGateway
let key: string
const sockets: WebSocket[] = []

beforeAll(async () => {
  testDatabase = await createDatabase()
  here = await openAgentGateway(testDatabase.url, { timing: { failedMs: 0, renewMs: 200 } })
  there = await openAgentGateway(testDatabase.url)
  await listMachines(here.operations, [{}])
  key = await newHostKey(here.operations, here.url, 1)
})

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate()
})

afterAll(async () => {
  await here.close()
  await there.close()
  await testDatabase.drop()
})

// biome-ignore lint/suspicious/noExplicitAny: whatever the gateway sends
type Heard = any

function dial({ url }: AgentGateway, path: string, secret = key, protocol = 'berth.host.2'): WebSocket {
  const headers = { authorization: `Bearer ${secret}` }
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, [protocol], { headers })
  socket.on('error', () => {})
  sockets.push(socket)
  return socket
}

/** The status of its handshake, or the code with which it is closed after it. */
async function answerTo(socket: WebSocket): Promise<number> {
  const refused = once(socket, 'unexpected-response').then(([, response]) => response.statusCode as number)
  const closed = once(socket, 'close').then(([code]) => code as number)
  return await Promise.race([refused, closed])
}

const branchPath = (generation: unknown, gateway = here.gatewayId) =>
  `/host/branch?gateway=${gateway}&generation=${generation}`

/** A host that is connected to one gateway, and does as the test says when it is asked to connect to the other one. */
async function connect(onBranch: (call: Heard, generation: number) => Promise<void> | void = () => {}) {
  const socket = dial(there, '/host')
  const welcome = Promise.withResolvers<number>()
  socket.on('message', data => {
    const message: Heard = JSON.parse(String(data))
    if (message.type === 'welcome') welcome.resolve(message.generation)
    if (message.method === 'branch') void onBranch(message, message.generation)
  })
  const say = (message: object) => socket.send(JSON.stringify(message))
  return { socket, generation: await welcome.promise, say }
}

const openHere = () =>
  here.provider.open(
    { machineId: 1, instanceId: 7n, accountId: 1 },
    { command: 'ls', terminal: null },
    AbortSignal.timeout(20_000),
  )

describe('a gateway', () => {
  it('refuses a second connection that it has not asked for', async () => {
    const { generation } = await connect()
    expect(await answerTo(dial(here, branchPath(generation)))).toBe(409)
  })

  it('refuses one for another gateway, of nobody, and of an unknown protocol', async () => {
    const { generation } = await connect()
    expect(await answerTo(dial(here, branchPath(generation, there.gatewayId)))).toBe(421)
    expect(await answerTo(dial(here, '/host/branch'))).toBe(421)
    expect(await answerTo(dial(here, branchPath(generation), `berth_host_${'x'.repeat(43)}`))).toBe(401)
    expect(await answerTo(dial(here, branchPath(generation), key, 'berth.host.9'))).toBe(426)
  })

  it('takes one beside the newest connection of the host, once', async () => {
    const answers: number[] = []
    const { say } = await connect(async ({ id }, generation) => {
      for (const other of [generation - 1, generation + 1, 'x', ''])
        answers.push(await answerTo(dial(here, branchPath(other))))
      const socket = dial(here, branchPath(generation))
      socket.on('message', data => {
        const call: Heard = JSON.parse(String(data))
        socket.send(JSON.stringify({ type: 'failure', id: call.id, kind: 'notRunning', message: call.method }))
      })
      await once(socket, 'open')
      answers.push(await answerTo(dial(here, branchPath(generation))))
      say({ type: 'result', id, value: null })
    })
    await expect(openHere()).rejects.toMatchObject({ name: 'ContainerNotRunning', message: 'open' })
    await expect.poll(() => answers).toEqual([409, 409, 409, 409, 409])
  })

  it('disconnects one that breaks the protocol', async () => {
    const closed = Promise.withResolvers<number>()
    await connect(async (_, generation) => {
      const socket = dial(here, branchPath(generation))
      socket.on('message', () => socket.send('{'))
      closed.resolve(await answerTo(socket))
    })
    await expect(openHere()).rejects.toThrow('is gone')
    expect(await closed.promise).toBe(4400)
  })

  it.each<[string, (first: WebSocket) => unknown]>([
    ['its first connection is gone', first => first.terminate()],
    ['it has a later one', () => here.database.pool.query('UPDATE agents SET generation = generation + 1')],
    ['its key is revoked', () => here.operations.machines.invite(1, { gpuAccess: 'none', validMs: 60_000 })],
  ])('disconnects one that a host keeps although %s', async (_, end) => {
    const closed = Promise.withResolvers<number>()
    const { socket } = await connect((_, generation) => {
      const branch = dial(here, branchPath(generation))
      branch.on('message', data => {
        const { id }: Heard = JSON.parse(String(data))
        branch.send(JSON.stringify({ type: 'result', id, value: null }))
      })
      closed.resolve(answerTo(branch))
    })
    const { exitCode } = await openHere()
    await end(socket)
    expect(await closed.promise).toBe(4409)
    await expect(exitCode).rejects.toThrow('is gone')
    key = await newHostKey(here.operations, here.url, 1)
  })

  it('does not believe a host that says it has connected', async () => {
    const { say } = await connect(({ id }) => say({ type: 'result', id, value: null }))
    await expect(openHere()).rejects.toThrow(MachineElsewhere)
  })
})

it('is asked for in vain at a gateway of an earlier version', async () => {
  const { database } = here
  await database.pool.query(
    "UPDATE agents SET gateway_id = gen_random_uuid(), held_until = now() + interval '20 seconds' WHERE machine_id = 1",
  )
  const secrets = createSecrets('a secret of tests')
  const earlier = requestServices({ database, secrets, gatewayId: crypto.randomUUID() })
  const refused = expect(openHere()).rejects.toThrow(MachineElsewhere)
  let answers = 0
  const answer = async () => {
    const says = { kind: 'unsupported', message: 'This gateway does not pass it on.' }
    for (const request of await earlier.take([1])) {
      await earlier.answer(request, JSON.stringify(says))
      answers += 1
    }
    return answers
  }
  await expect.poll(answer).toBe(1)
  await refused
  await database.pool.query('UPDATE agents SET gateway_id = NULL, held_until = NULL WHERE machine_id = 1')
})

describe('a host', () => {
  /** What a gateway, or something in front of it, answers to all that ask. */
  async function ask(status: number, { gateway, url = null }: { gateway?: string; url?: string | null } = {}) {
    const asked: IncomingMessage[] = []
    const server = createServer((request, response) => {
      asked.push(request)
      response.writeHead(status, { connection: 'close' }).end(JSON.stringify({ msg: `It said ${status}.` }))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const openSession = () => ({ receive: () => {}, end: () => {} })
    const options = { key, version: '0.1.0', protocols: [2], gateway: gateway ?? address }
    const branches = createBranches({ ...options, openSession })
    const beside = { machineId: 1, generation: 3, provider: {} as Provider }
    const gatewayId = crypto.randomUUID()
    const opened = branches.open({ gatewayId, url }, beside, AbortSignal.timeout(20_000))
    const error = await opened.then(
      () => undefined,
      (reason: Error) => reason.message,
    )
    server.close()
    return { error, asked, gatewayId }
  }

  it.each([404, 421, 503])('tries again when a balancer leads to one that answers %i', async status => {
    const { error, asked, gatewayId } = await ask(status)
    expect([error, asked.length]).toEqual([`It said ${status}.`, 32])
    expect(asked[0]?.url).toBe(`/host/branch?gateway=${gatewayId}&generation=3`)
  })

  it.each([401, 409])('gives up when the gateway answers %i', async status => {
    const { error, asked } = await ask(status)
    expect([error, asked.length]).toEqual([`It said ${status}.`, 1])
  })

  it('sends its key nowhere without TLS if its own gateway has it', async () => {
    const url = 'http://gateway.example.com'
    const { error } = await ask(200, { gateway: 'https://berth.example.com', url })
    expect(error).toContain('travels encrypted only')
  })
})
