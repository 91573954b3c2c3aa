// Streams of renters on gateways that do not have the host's connection: the host opens a second one there.

import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { MachineElsewhere } from '../../../../src/providers/agent/provider.ts'
import { MachineUnreachable, PortRefused, type Provider } from '../../../../src/providers/provider.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'
import { listMachines } from '../../../support/factories.ts'
import { type AgentGateway, openAgentGateway } from '../../../support/machines/agent-gateway.ts'
import { newHostKey, startAgent, type TestAgent } from '../../../support/machines/hosts.ts'
import { startTcpBalancer } from '../../../support/machines/tcp-balancer.ts'
import { localProvider, type Told } from '../../../support/ssh/local-provider.ts'

const container = { machineId: 1, instanceId: 7n }
const signal = () => AbortSignal.timeout(30_000)
const opened = 'A host of another gateway has opened a second connection.'
const refused = 'A host of another gateway did not open a second connection.'
const closed = 'The second connection of a host is closed.'

let testDatabase: TestDatabase
let key: string
const told: Told = { sizes: [], terminals: [], signals: [], hungUp: 0 }
const open: { close(): Promise<void> }[] = []

beforeAll(async () => {
  testDatabase = await createDatabase()
  const gateway = await openAgentGateway(testDatabase.url)
  await listMachines(gateway.operations, [{}])
  key = await newHostKey(gateway.operations, gateway.url, 1)
  await gateway.close()
})

afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

afterAll(() => testDatabase.drop())

type GatewayOptions = Parameters<typeof openAgentGateway>[1]

async function newGateway(options: GatewayOptions = {}): Promise<AgentGateway> {
  const gateway = await openAgentGateway(testDatabase.url, options)
  let done: Promise<void> | undefined
  const one = { ...gateway, close: () => (done ??= gateway.close()) }
  open.push(one)
  return one
}

async function newBalancer(...gateways: AgentGateway[]) {
  const balancer = await startTcpBalancer()
  balancer.use(gateways.map(({ url }) => url))
  open.push(balancer)
  return balancer
}

async function connect({ url }: { url: string }, protocols?: number[]): Promise<TestAgent> {
  const provider = localProvider(told) as Provider
  const agent = startAgent({ gateway: url, key, provider, ...(protocols && { protocols }) })
  open.unshift({ close: agent.stop })
  await expect.poll(() => agent.connections()).toBe(1)
  return agent
}

/** Two gateways, and a host that is connected to the second one. */
async function newPair(options: GatewayOptions = {}) {
  const [here, there] = [await newGateway({ address: true, ...options }), await newGateway()]
  return { here, there, agent: await connect(there) }
}

/** Of something that accepts connections, and answers nothing. */
async function silentAddress(): Promise<string> {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  open.push({ close: async () => void silent.close() })
  return `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
}

const start = ({ provider }: AgentGateway, command: string) =>
  provider.open(container, { command, terminal: null }, signal())

async function run(gateway: AgentGateway, command: string): Promise<[string, number]> {
  const { stdout, exitCode } = await start(gateway, command)
  return [(await buffer(stdout)).toString(), await exitCode]
}

const countOf = ({ lines }: AgentGateway, text: string) => lines.filter(({ msg }) => msg === text).length
const hold = async ({ database }: AgentGateway) =>
  await database.prisma.agent.findUniqueOrThrow({
    where: { machineId: 1 },
    select: { gatewayId: true, generation: true },
  })

describe('a stream on a gateway without the host', () => {
  it('gives the output and the exit code of a command', async () => {
    const { here, there } = await newPair()
    const before = await hold(here)
    expect(await run(here, 'echo hello; exit 3')).toEqual(['hello\n', 3])
    expect(await run(there, 'echo hello; exit 4')).toEqual(['hello\n', 4])
    expect(await hold(here)).toEqual(before)
    expect(before.gatewayId).toBe(there.gatewayId)
    await expect.poll(() => here.database.prisma.agentRequest.count()).toBe(0)
  })

  it('gets and gives 20 MB exactly, and is held up by no other', async () => {
    const { here } = await newPair()
    const content = randomBytes(20_000_000)
    const stuck = await start(here, 'cat')
    pipeline(Readable.from(content), stuck.stdin).catch(() => {})
    const { stdin, stdout, exitCode } = await start(here, 'cat')
    const startedMs = performance.now()
    const [output] = await Promise.all([buffer(stdout), pipeline(Readable.from(slices(content)), stdin)])
    process.stdout.write(`20 MB both ways on a branch: ${Math.round(performance.now() - startedMs)} ms\n`)
    expect([hashOf(output), await exitCode]).toEqual([hashOf(content), 0])
    expect(stuck.stdout.readableLength).toBeLessThan(400_000)
    stuck.hangUp()
  })

  it('reaches a port of the container, and learns that nothing listens on another', async () => {
    const { here } = await newPair()
    const server = createServer(socket => socket.pipe(socket)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const connection = await here.provider.connect(container, port, signal())
    const content = randomBytes(20_000_000)
    const [output] = await Promise.all([buffer(connection), pipeline(Readable.from(slices(content)), connection)])
    expect(hashOf(output)).toBe(hashOf(content))
    server.close()
    await expect(here.provider.connect(container, port, signal())).rejects.toThrow(PortRefused)
  })

  it('shares one connection with all others, also with those that begin at the same time', async () => {
    const { here } = await newPair()
    const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => run(here, `echo ${index}`)))
    expect(answers).toEqual(answers.map((_, index) => [`${index}\n`, 0]))
    await run(here, 'true')
    expect(countOf(here, opened)).toBe(1)
  })

  it('works behind a balancer that leads to any of three gateways', async () => {
    const gateways = [await newGateway(), await newGateway(), await newGateway()]
    await connect(await newBalancer(...gateways))
    for (const gateway of gateways) expect(await run(gateway, 'echo hello')).toEqual(['hello\n', 0])
    expect(gateways.map(gateway => countOf(gateway, opened)).toSorted()).toEqual([0, 1, 1])
  })

  it('is left by who waits for it, and opens for others', async () => {
    const { here } = await newPair()
    const leaving = new AbortController()
    const left = here.provider.open(container, { command: 'cat', terminal: null }, leaving.signal)
    const other = run(here, 'echo hello')
    leaving.abort(new Error('I have left.'))
    await expect(left).rejects.toThrow('I have left.')
    expect(await other).toEqual(['hello\n', 0])
  })
})

describe('the second connection', () => {
  it('stays while it is used, and ends some time later', async () => {
    const { here } = await newPair({ timing: { keptMs: 500, renewMs: 100 } })
    const { stdin, stdout, exitCode } = await start(here, 'cat')
    await new Promise(resolve => setTimeout(resolve, 1_500))
    stdin.end('still there')
    expect([(await buffer(stdout)).toString(), await exitCode]).toEqual(['still there', 0])
    await expect.poll(() => countOf(here, closed)).toBe(1)
    expect(await run(here, 'echo again')).toEqual(['again\n', 0])
    expect(countOf(here, opened)).toBe(2)
  })

  it('ends with the first one, when its gateway stops', async () => {
    const { here, there, agent } = await newPair()
    const { exitCode } = await start(here, 'cat')
    await there.close()
    await expect(exitCode).rejects.toThrow(MachineUnreachable)
    expect(countOf(here, closed)).toBe(1)
    await expect(run(here, 'true')).rejects.toThrow('is not connected')
    await agent.stop()
  })

  it('ends when its own gateway stops, and leaves the first one alone', async () => {
    const { here, there, agent } = await newPair()
    const { exitCode } = await start(here, 'cat')
    const hungUp = told.hungUp
    await here.close()
    await expect(exitCode).rejects.toThrow(MachineUnreachable)
    await expect.poll(() => told.hungUp).toBeGreaterThan(hungUp)
    expect(await run(there, 'echo hello')).toEqual(['hello\n', 0])
    expect(agent.connections()).toBe(1)
  })

  it('is not used once the first one is here', async () => {
    const [here, there] = [await newGateway({ address: true }), await newGateway()]
    const balancer = await newBalancer(there)
    const agent = await connect(balancer)
    await run(here, 'true')
    balancer.use([here.url])
    await there.close()
    await expect.poll(() => agent.connections(), { timeout: 15_000 }).toBe(2)
    expect(await run(here, 'echo hello')).toEqual(['hello\n', 0])
    expect([countOf(here, opened), countOf(here, closed)]).toEqual([1, 1])
    expect((await hold(here)).gatewayId).toBe(here.gatewayId)
  })

  it('serves whoever waits for it when the first one comes instead', async () => {
    const timing = { openMs: 30_000, lossMs: 30_000 }
    const [here, there] = [await newGateway({ address: await silentAddress(), timing }), await newGateway()]
    const balancer = await newBalancer(there)
    await connect(balancer)
    const answer = run(here, 'echo hello')
    await expect.poll(() => here.database.prisma.agentRequest.count()).toBe(1)
    balancer.use([here.url])
    await there.close()
    expect(await answer).toEqual(['hello\n', 0])
  })

  it('ends within seconds when the key of the host is revoked', async () => {
    const { here } = await newPair()
    const { exitCode } = await start(here, 'cat')
    await here.operations.machines.invite(1, { gpuAccess: 'none', validMs: 60_000 })
    await expect(exitCode).rejects.toThrow(MachineUnreachable)
    await expect(run(here, 'true')).rejects.toThrow('is not connected')
    key = await newHostKey(here.operations, here.url, 1)
  })
})

describe('a host that does not open a second connection', () => {
  const elsewhere = 'is connected to another gateway. Try again there.'

  it('is asked once for all, and again after some time', async () => {
    const { here } = await newPair({ address: 'http://127.0.0.1:9', timing: { failedMs: 1_500 } })
    const attempts = await Promise.allSettled(Array.from({ length: 4 }, () => run(here, 'true')))
    for (const attempt of attempts)
      expect(attempt).toMatchObject({ status: 'rejected', reason: expect.any(MachineElsewhere) })
    await expect(run(here, 'true')).rejects.toThrow(elsewhere)
    expect(countOf(here, refused)).toBe(1)
    await expect
      .poll(async () => [await run(here, 'true').catch(() => 'refused'), countOf(here, refused)], { timeout: 15_000 })
      .toEqual(['refused', 2])
  })

  it('is waited for only so long', async () => {
    const { here, there } = await newPair({ address: await silentAddress(), timing: { openMs: 700 } })
    const startedMs = performance.now()
    await expect(run(here, 'true')).rejects.toThrow(elsewhere)
    expect(performance.now() - startedMs).toBeGreaterThan(650)
    const againMs = performance.now()
    await expect(run(here, 'true')).rejects.toThrow(elsewhere)
    expect(performance.now() - againMs).toBeLessThan(650)
    expect(await run(there, 'echo hello')).toEqual(['hello\n', 0])
  })

  it('may speak the protocol before, and keeps what that has', async () => {
    const [here, there] = [await newGateway({ address: true }), await newGateway()]
    await connect(there, [1])
    await expect(run(here, 'true')).rejects.toThrow(MachineElsewhere)
    expect(JSON.stringify(here.lines.find(({ msg }) => msg === refused))).toContain('Upgrade Berth on the host.')
    expect(await run(there, 'echo hello')).toEqual(['hello\n', 0])
  })
})

function hashOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function* slices(content: Buffer): Generator<Buffer> {
  for (let from = 0; from < content.length; from += 70_001) yield content.subarray(from, from + 70_001)
}
