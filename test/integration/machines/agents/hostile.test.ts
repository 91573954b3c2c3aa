// Hosts in the hands of anybody: what they send ends at most their own connection.

import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { MachineUnreachable } from '../../../../src/providers/provider.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'
import { listMachines } from '../../../support/factories.ts'
import { type AgentGateway, openAgentGateway } from '../../../support/machines/agent-gateway.ts'
import { newHostKey } from '../../../support/machines/hosts.ts'

let testDatabase: TestDatabase
let gateway: AgentGateway
let key: string
const sockets: WebSocket[] = []
const container = { machineId: 1, instanceId: 7n, accountId: 1 }
const signal = () => AbortSignal.timeout(5_000)

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = await openAgentGateway(testDatabase.url)
  await listMachines(gateway.operations, [{}])
  key = await newHostKey(gateway.operations, gateway.url, 1)
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate()
})

// biome-ignore lint/suspicious/noExplicitAny: whatever the gateway sends
type Heard = any

/** A socket that answers each call as the test says. */
async function open(answer: (call: Heard, socket: WebSocket) => void = () => {}, query = '') {
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/host${query}`, ['berth.host.1'], {
    headers: { authorization: `Bearer ${key}` },
  })
  sockets.push(socket)
  const heard: Heard[] = []
  const closed = once(socket, 'close').then(([code]) => code as number)
  socket.on('message', (data, isBinary) => {
    if (isBinary) return
    const message = JSON.parse(String(data))
    heard.push(message)
    if (message.type === 'call') answer(message, socket)
  })
  await expect.poll(() => heard).toHaveLength(1)
  return { socket, heard, closed, say: (message: unknown) => socket.send(JSON.stringify(message)) }
}

const logLine = { printedAt: '2026-11-26T00:00:00.000Z', text: 'x'.repeat(100), source: 'stdout' }

const reply =
  (value: unknown) =>
  ({ id }: Heard, socket: WebSocket) =>
    socket.send(JSON.stringify({ type: 'result', id, value }))

describe('a host', () => {
  it.each<[string, string | Buffer]>([
    ['no JSON', '{'],
    ['JSON of no message', '[1]'],
    ['an unknown message', '{"type":"welcome","machineId":2}'],
    ['an id that is none', '{"type":"result","id":-1,"value":null}'],
    ['an exit code that is none', '{"type":"exit","id":1,"code":1000000}'],
    ['ids of changes that are none', '{"type":"change","id":1,"instanceIds":["1; DROP TABLE instances"]}'],
    ['too many changes', JSON.stringify({ type: 'change', id: 1, instanceIds: Array(2_000).fill('1') })],
    ['a grant without end', '{"type":"grant","id":1,"channel":0,"bytes":1e300}'],
    ['a frame without a stream', Buffer.from([1, 2, 3])],
    ['a frame that is longer than a window', Buffer.alloc(5 + 262_145)],
    ['bytes of a stream that nobody began', Buffer.from([0, 0, 0, 99, 1, 65])],
  ])('is disconnected when it sends %s', async (_, data) => {
    const { socket, closed } = await open()
    socket.send(data)
    expect(await closed).toBe(4400)
  })

  it('is disconnected when its message is too long', async () => {
    const { socket, closed } = await open()
    socket.send('x'.repeat(4_194_305))
    expect(await closed).toBe(1009)
  })

  it('is disconnected when it sends more of a stream than it may', async () => {
    const { closed } = await open(({ id, method }, socket) => {
      if (method !== 'open') return
      socket.send(JSON.stringify({ type: 'result', id, value: null }))
      const frame = Buffer.alloc(5 + 65_536)
      frame.writeUInt32BE(id)
      frame[4] = 1
      for (let count = 0; count < 20; count += 1) socket.send(frame)
    })
    const opened = await gateway.provider.open(container, { command: null, terminal: null }, signal())
    expect(await closed).toBe(4400)
    await expect(opened.exitCode).rejects.toThrow(MachineUnreachable)
    await expect(opened.stdout.toArray()).rejects.toThrow(MachineUnreachable)
  })

  it('may have been sending when a stream ends, but does not go on', async () => {
    const { socket, closed } = await open(reply(null))
    const opened = await gateway.provider.open(container, { command: null, terminal: null }, signal())
    opened.stdout.destroy()
    const frame = Buffer.alloc(5 + 65_536)
    frame.writeUInt32BE(1)
    frame[4] = 1
    // As much as the window had, and then one byte more.
    for (let count = 0; count < 4; count += 1) socket.send(frame)
    await gateway.provider.observe(container, signal()).catch(() => {})
    expect(socket.readyState).toBe(socket.OPEN)
    socket.send(frame.subarray(0, 6))
    expect(await closed).toBe(4400)
  })

  it('says things of streams that nobody began, in vain', async () => {
    const { say } = await open(reply({ state: 'absent' }))
    for (const type of ['result', 'exit', 'close', 'end', 'grant', 'change', 'failure'])
      say({ type, id: 99, value: 1, code: 1, kind: 'other', message: '', channel: 1, bytes: 1, instanceIds: ['5'] })
    expect(await gateway.provider.observe(container, signal())).toEqual({ state: 'absent' })
  })

  it.each<[string, unknown]>([
    ['no state', { state: 'on fire' }],
    ['a running container without keys', { state: 'running' }],
    ['an instant that is none', { state: 'running', sshKeys: [], until: 'tomorrow' }],
    ['keys without end', { state: 'running', sshKeys: Array(5_000).fill('ssh-rsa A') }],
    ['an exit code that is none', { state: 'exited', exitCode: 'none', sshKeys: [] }],
    ['a reason that cannot be stored', { state: 'failed', code: 'START_FAILED', message: 'one\0two' }],
    ['a fault of somebody else', { state: 'failed', code: 'START_FAILED', message: 'one', fault: 'renter' }],
    ['half a character', { state: 'failed', code: 'START_FAILED', message: 'one\ud800' }],
    ['nothing', undefined],
  ])('counts as unreachable when it observes %s', async (_, value) => {
    await open(reply(value))
    await expect(gateway.provider.observe(container, signal())).rejects.toThrow(MachineUnreachable)
  })

  it('says who is to blame for a container that cannot start, or leaves that out', async () => {
    const failed = { state: 'failed', code: 'START_FAILED', message: 'No GPUs.' }
    await open(reply({ ...failed, fault: 'machine' }))
    expect(await gateway.provider.observe(container, signal())).toEqual({ ...failed, fault: 'machine' })
    await open(reply(failed))
    expect(await gateway.provider.observe(container, signal())).toEqual(failed)
  })

  it('counts as unreachable when its logs, output or inventory are not such', async () => {
    await open(reply([{ text: 'x' }]))
    await expect(gateway.provider.logs(container, {}, signal())).rejects.toThrow(MachineUnreachable)
    await expect(gateway.provider.exec(container, 'ls', signal())).rejects.toThrow(MachineUnreachable)
    await expect(gateway.provider.inventory(1, signal())).rejects.toThrow(MachineUnreachable)
  })

  it('does not make one pass follow the other by what it expects, or by the changes that it tells', async () => {
    const until = new Date(Date.now() - 1_000).toISOString()
    const instanceIds = Array.from({ length: 1_000 }, (_, index) => String(index + 1))
    await open(({ id, method }, socket) => {
      const say = (message: object) => socket.send(JSON.stringify({ id, ...message }))
      if (method === 'observe') say({ type: 'result', value: { state: 'preparing', until } })
      else for (let count = 0; count < 5; count += 1) say({ type: 'change', instanceIds })
    })
    expect(await gateway.provider.observe(container, signal())).toEqual({ state: 'preparing' })
    let changes = 0
    const count = () => {
      changes += 1
    }
    await gateway.provider.watch(1, count, AbortSignal.timeout(500))
    expect(changes).toBeGreaterThanOrEqual(1_000)
    expect(changes).toBeLessThan(1_100)
  })

  it('sends long messages that nobody asked for, and nobody reads them', async () => {
    const { socket, heard } = await open(reply({ state: 'absent' }))
    const noJson = 'x'.repeat(100_000)
    for (const head of ['', '{"type":"change","id":1,', '{"type":"result","id":99,', '{"id":1,"type":"result",'])
      socket.send(head + noJson)
    expect(await gateway.provider.observe(container, signal())).toEqual({ state: 'absent' })
    expect(await gateway.provider.observe(container, signal())).toEqual({ state: 'absent' })
    expect(heard).toHaveLength(3)
  })

  it('answers a call at length', async () => {
    await open(reply(Array.from({ length: 1_000 }, (_, index) => ({ ...logLine, cursor: String(index) }))))
    expect(await gateway.provider.logs(container, {}, signal())).toHaveLength(1_000)
  })

  it('is given up by a call that it does not answer, and is told so', async () => {
    const { heard } = await open()
    await expect(gateway.provider.observe(container, AbortSignal.timeout(50))).rejects.toThrow('timeout')
    await expect.poll(() => heard.map(({ type }) => type)).toEqual(['welcome', 'call', 'abort'])
  })

  it.each(['-1', '1e9', 'x', '99999999999', ''])('tells no generation that counts: %s', async told => {
    const [before, after] = [await open(), await open(() => {}, `?generation=${told}`)]
    expect(after.heard[0].generation).toBe(before.heard[0].generation + 1)
  })

  it('tells generations without end, and connects all the same', async () => {
    for (const expected of [2_000_000_001, 2_000_000_002]) {
      const { heard } = await open(() => {}, '?generation=2147483647')
      expect(heard[0].generation).toBe(expected)
    }
    await gateway.database.pool.query('UPDATE agents SET generation = 1')
  })

  it('gets calls with the generation of its connection, and no call of another machine', async () => {
    const { heard } = await open(reply({ state: 'absent' }))
    await gateway.provider.observe(container, signal())
    expect(heard[1]).toMatchObject({ generation: heard[0].generation, args: { instanceId: '7' } })
    await expect(gateway.provider.observe({ machineId: 2, instanceId: 7n, accountId: 1 }, signal())).rejects.toThrow(
      MachineUnreachable,
    )
  })
})

describe('a socket', () => {
  const refused = async (headers: Record<string, string>, path = '/host') => {
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}${path}`, ['berth.host.1'], { headers })
    const [, response] = await once(socket, 'unexpected-response')
    socket.on('error', () => {})
    socket.terminate()
    return response.statusCode
  }

  it('is refused without a valid key', async () => {
    expect(await refused({})).toBe(401)
    expect(await refused({ authorization: 'Bearer berth_host_short' })).toBe(401)
    expect(await refused({ authorization: `Bearer berth_host_${"'".repeat(43)}` })).toBe(401)
  })

  it('is refused beyond the limit of those that are being looked up', async () => {
    const client = await gateway.database.pool.connect()
    await client.query('BEGIN; LOCK TABLE agents IN ACCESS EXCLUSIVE MODE')
    const statuses: (number | undefined)[] = []
    const ask = async () => void statuses.push(await refused({ authorization: `Bearer berth_host_${'k'.repeat(43)}` }))
    const asked = Array.from({ length: 80 }, ask)
    await expect.poll(() => statuses.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(16)
    await client.query('ROLLBACK')
    client.release()
    await Promise.all(asked)
    expect(statuses.filter(status => status === 503).length).toBeGreaterThanOrEqual(16)
    expect(statuses.every(status => status === 503 || status === 401)).toBe(true)
  })
})
