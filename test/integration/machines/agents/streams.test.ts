// Processes and connections through the agent of a host, over a real socket.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Duplex, PassThrough, Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type ContainerProcess, MachineUnreachable, type Provider } from '../../../../src/providers/provider.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'
import { listMachines } from '../../../support/factories.ts'
import { type AgentGateway, openAgentGateway } from '../../../support/machines/agent-gateway.ts'
import { newHostKey, startAgent, type TestAgent } from '../../../support/machines/hosts.ts'

const container = { machineId: 1, instanceId: 7n, accountId: 1 }
const signal = () => AbortSignal.timeout(20_000)
const megabytes = 20

let testDatabase: TestDatabase
let gateway: AgentGateway
let agent: TestAgent
/** What the host does with a process and a connection. */
let openProcess: () => Promise<ContainerProcess>
let openConnection: () => Promise<Duplex>
let done: string[]

const provider = {
  open: () => openProcess(),
  connect: () => openConnection(),
} as unknown as Provider

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = await openAgentGateway(testDatabase.url)
  await listMachines(gateway.operations, [{}])
  const key = await newHostKey(gateway.operations, gateway.url, 1)
  agent = startAgent({ gateway: gateway.url, key, provider })
  for (; agent.connections() === 0; ) await new Promise(resolve => setTimeout(resolve, 10))
})

afterAll(async () => {
  await agent.stop()
  await gateway.close()
  await testDatabase.drop()
})

afterEach(() => expect(gateway.lines.filter(({ msg }) => String(msg).includes('closed'))).toEqual([]))

/** A process that repeats its input, and prints as much as errors. */
function echo(exit = Promise.withResolvers<number>()) {
  done = []
  const [stdin, stderr] = [new PassThrough(), new PassThrough()]
  stdin.once('end', () => {
    stderr.end()
    exit.resolve(3)
  })
  const opened: ContainerProcess = {
    ...{ stdin, stdout: stdin, stderr, exitCode: exit.promise },
    resize: async ({ columns, rows }) => void done.push(`resize ${columns} ${rows}`),
    signal: async name => void done.push(`signal ${name}`),
    hangUp() {
      done.push('hang up')
      stdin.end()
    },
  }
  return { ...opened, stderr }
}

function bytes(seed: string): Buffer {
  const block = createHash('sha512').update(seed).digest()
  return Buffer.alloc(megabytes * 1_000_000, block)
}

async function hashOf(readable: Readable): Promise<{ hash: string; size: number }> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of readable) {
    hash.update(chunk)
    size += chunk.length
  }
  return { hash: hash.digest('hex'), size }
}

const writeAll = async (content: Buffer, to: Writable) => await pipeline(Readable.from(slices(content)), to)
function* slices(content: Buffer): Generator<Buffer> {
  for (let from = 0; from < content.length; from += 70_001) yield content.subarray(from, from + 70_001)
}

describe('a process', () => {
  it(`gets and gives ${megabytes} MB exactly, both ways at once`, async () => {
    openProcess = async () => echo()
    const content = bytes('one')
    const startedMs = performance.now()
    const { stdin, stdout, exitCode } = await gateway.provider.open(
      container,
      { command: 'cat', terminal: null },
      signal(),
    )
    const [answer] = await Promise.all([hashOf(stdout), writeAll(content, stdin)])
    expect(answer).toEqual({ hash: createHash('sha256').update(content).digest('hex'), size: content.length })
    expect(await exitCode).toBe(3)
    process.stdout.write(`${megabytes} MB both ways: ${Math.round(performance.now() - startedMs)} ms\n`)
  })

  it('is not held up by another whose output nobody reads', async () => {
    openProcess = async () => echo()
    const stuck = await gateway.provider.open(container, { command: 'cat', terminal: null }, signal())
    const writing = writeAll(bytes('stuck'), stuck.stdin).catch(() => 'broken')
    const other = await gateway.provider.open(container, { command: 'cat', terminal: null }, signal())
    const content = bytes('other')
    const [answer] = await Promise.all([hashOf(other.stdout), writeAll(content, other.stdin)])
    expect(answer.size).toBe(content.length)
    expect(stuck.stdout.readableLength).toBeLessThan(400_000)
    expect((await hashOf(stuck.stdout)).size).toBe(content.length)
    expect(await writing).not.toBe('broken')
  })

  it('leaves a small one its turns while large ones are busy', async () => {
    openProcess = async () => echo()
    const busy = await Promise.all(
      [1, 2, 3, 4].map(() => gateway.provider.open(container, { command: 'cat', terminal: null }, signal())),
    )
    const finished = busy.map(({ stdin, stdout }) => Promise.all([writeAll(bytes('busy'), stdin), hashOf(stdout)]))
    const small = await gateway.provider.open(container, { command: 'cat', terminal: null }, signal())
    const waits: number[] = []
    for (let count = 0; count < 20; count += 1) {
      const askedMs = performance.now()
      small.stdin.write('x')
      await once(small.stdout, 'data')
      waits.push(performance.now() - askedMs)
    }
    // A busy machine may hold up one of them.
    expect(waits.toSorted((one, other) => one - other)[10]).toBeLessThan(1_000)
    small.stdin.end()
    await Promise.all(finished)
  })

  it('is resized, signaled and hung up', async () => {
    openProcess = async () => echo()
    const opened = await gateway.provider.open(
      container,
      { command: null, terminal: { type: 'xterm', columns: 80, rows: 24 } },
      signal(),
    )
    await opened.resize({ columns: 100, rows: 40 })
    await opened.signal('SIGINT')
    opened.hangUp()
    opened.stdout.resume()
    expect(await opened.exitCode).toBe(3)
    expect(done.slice(0, 3)).toEqual(['resize 100 40', 'signal SIGINT', 'hang up'])
  })

  it('breaks off when the machine no longer answers', async () => {
    const exit = Promise.withResolvers<number>()
    openProcess = async () => echo(exit)
    const opened = await gateway.provider.open(container, { command: 'cat', terminal: null }, signal())
    exit.reject(new MachineUnreachable('The engine is gone.'))
    await expect(opened.exitCode).rejects.toThrow(MachineUnreachable)
    await expect(hashOf(opened.stdout)).rejects.toThrow(MachineUnreachable)
  })
})

describe('a connection', () => {
  it(`gets and gives ${megabytes} MB exactly, and ends each way for itself`, async () => {
    openConnection = async () => {
      const [toHost, fromHost] = [new PassThrough(), new PassThrough()]
      toHost.pipe(fromHost)
      return Duplex.from({ readable: fromHost, writable: toHost })
    }
    const content = bytes('two')
    const connection = await gateway.provider.connect(container, 80, signal())
    const [answer] = await Promise.all([hashOf(connection), writeAll(content, connection).catch(() => {})])
    expect(answer).toEqual({ hash: createHash('sha256').update(content).digest('hex'), size: content.length })
  })

  it('ends on the host when it is closed', async () => {
    const onHost = new PassThrough()
    openConnection = async () => onHost
    const connection = await gateway.provider.connect(container, 80, signal())
    connection.destroy()
    await once(onHost, 'close')
  })
})
