// Agents that lose their gateway, meet one of another version, or meet their double.

import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createLogReader } from '../../../../src/command-logs.ts'
import { createLog } from '../../../../src/http/log.ts'
import { MachineElsewhere } from '../../../../src/providers/agent/provider.ts'
import { MachineUnreachable } from '../../../../src/providers/provider.ts'
import { createSecrets } from '../../../../src/services/secrets.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'
import { listMachines } from '../../../support/factories.ts'
import { type AgentGateway, openAgentGateway } from '../../../support/machines/agent-gateway.ts'
import { newHostKey, openSimulatedHost, startAgent, type TestAgent } from '../../../support/machines/hosts.ts'

let testDatabase: TestDatabase
let host: ReturnType<typeof openSimulatedHost>
let key: string
const open: (AgentGateway | TestAgent)[] = []
const container = { machineId: 1, instanceId: 7n, accountId: 1 }
const signal = () => AbortSignal.timeout(10_000)

beforeAll(async () => {
  testDatabase = await createDatabase()
  host = openSimulatedHost(testDatabase.url)
  const gateway = await openAgentGateway(testDatabase.url)
  await listMachines(gateway.operations, [{}])
  key = await newHostKey(gateway.operations, gateway.url, 1)
  await gateway.close()
})

afterEach(async () => {
  for (const one of open.splice(0)) await ('close' in one ? one.close() : one.stop())
})

afterAll(async () => {
  await host.close()
  await testDatabase.drop()
})

async function newGateway(options: Parameters<typeof openAgentGateway>[1] = {}): Promise<AgentGateway> {
  const gateway = await openAgentGateway(testDatabase.url, options)
  open.push(gateway)
  return gateway
}

async function connect({ url }: AgentGateway, protocols?: number[]): Promise<TestAgent> {
  const agent = startAgent({ gateway: url, key, provider: host.provider, ...(protocols && { protocols }) })
  open.unshift(agent)
  await expect.poll(() => agent.connections()).toBe(1)
  return agent
}

it('serves a call that comes while the connection is gone for a moment', async () => {
  const gateway = await newGateway()
  const agent = await connect(gateway)
  const { port } = new URL(gateway.url)
  await gateway.close()
  open.splice(open.indexOf(gateway), 1)
  const again = await newGateway({ port: Number(port) })
  await expect.poll(() => agent.connections(), { timeout: 10_000 }).toBe(2)
  expect(await again.provider.observe(container, signal())).toEqual({ state: 'absent' })
})

it('serves at once a host that knows later connections than the database, as after a restore', async () => {
  const [gateway, other] = [await newGateway(), await newGateway()]
  await other.database.pool.query('UPDATE agents SET generation = 500')
  const agent = await connect(gateway)
  const { port } = new URL(gateway.url)
  await gateway.close()
  open.splice(open.indexOf(gateway), 1)
  await other.database.pool.query('UPDATE agents SET generation = 3')
  const again = await newGateway({ port: Number(port) })
  await expect.poll(() => agent.connections(), { timeout: 10_000 }).toBe(2)
  expect(await again.provider.observe(container, signal())).toEqual({ state: 'absent' })
  expect(await other.database.prisma.agent.findFirst()).toMatchObject({ generation: 502 })
})

it('keeps a call waiting until its host is back', async () => {
  const gateway = await newGateway()
  const agent = await connect(gateway)
  await agent.stop()
  open.splice(open.indexOf(agent), 1)
  const asked = gateway.provider.observe(container, signal())
  await connect(gateway)
  expect(await asked).toEqual({ state: 'absent' })
})

it('says that a host is on another gateway, and passes on what has a short answer', async () => {
  const [here, there] = [await newGateway(), await newGateway()]
  await connect(there)
  const terminal = { command: null, terminal: null }
  await expect(here.provider.open(container, terminal, signal())).rejects.toThrow(MachineElsewhere)
  await expect(here.provider.connect(container, 80, signal())).rejects.toThrow('Try again there.')
  await expect(here.provider.start(container, signal())).rejects.toThrow('is not connected')
  expect(await here.provider.logs(container, {}, signal())).toEqual([])
  await expect(here.provider.exec(container, 'ls', signal())).rejects.toMatchObject({ name: 'ContainerNotRunning' })
  await expect.poll(() => here.database.prisma.agentRequest.count()).toBe(0)
})

it('tells a command, to which no host connects, what its gateway knows', async () => {
  const gateway = await newGateway()
  await connect(gateway)
  const { database } = gateway
  const log = createLog('silent', { write: () => {} })
  const readLog = createLogReader({ database, log, simulatedDelay: 1, toolboxFile: 'toolbox.tar' })(
    createSecrets('a secret of tests'),
  )
  expect(await readLog(container, {}, signal())).toEqual([])
  await expect.poll(() => database.prisma.agentRequest.count()).toBe(0)
})

it('gives a call up that no gateway answers, and leaves nothing behind', async () => {
  const [here, there] = [await newGateway(), await newGateway()]
  const agent = await connect(there)
  await there.agents.stop()
  await here.database.pool.query(
    "UPDATE agents SET gateway_id = gen_random_uuid(), held_until = now() + interval '20 seconds'",
  )
  await expect(here.provider.logs(container, {}, AbortSignal.timeout(300))).rejects.toThrow('timeout')
  await expect.poll(() => here.database.prisma.agentRequest.count()).toBe(0)
  await agent.stop()
  await here.database.pool.query('UPDATE agents SET gateway_id = NULL, held_until = NULL')
  await expect(here.provider.logs(container, {}, signal())).rejects.toThrow(MachineUnreachable)
})

it('speaks the older protocol with a newer gateway, and with an older one', async () => {
  for (const [spoken, offered] of [
    [[2, 1], [1]],
    [[1], [2, 1]],
  ] as const) {
    const gateway = await newGateway({ protocols: spoken })
    await connect(gateway, [...offered])
    expect(await gateway.provider.observe(container, signal())).toEqual({ state: 'absent' })
    for (const one of open.splice(0)) await ('close' in one ? one.close() : one.stop())
  }
})

it('gives way to another agent with its key, and comes back late', async () => {
  const gateway = await newGateway()
  const old = await connect(gateway)
  await connect(gateway)
  await expect.poll(() => old.lines.join()).toContain('The host is not connected.')
  expect(await gateway.provider.observe(container, signal())).toEqual({ state: 'absent' })
  await new Promise(resolve => setTimeout(resolve, 1_500))
  expect(old.connections()).toBe(1)
})

it('does nothing for a gateway whose connection another one has taken', async () => {
  const [old, other] = [await newGateway(), await newGateway()]
  await connect(old)
  // As if the host had connected to the other gateway, and the old one had not noticed.
  await other.database.pool.query(
    "UPDATE agents SET gateway_id = gen_random_uuid(), held_until = now() + interval '20 seconds', generation = generation + 1",
  )
  await expect
    .poll(() => old.lines.map(({ msg }) => msg), { timeout: 8_000 })
    .toContain('The connection of an agent is closed.')
  await expect(old.provider.start(container, AbortSignal.timeout(8_000))).rejects.toThrow(MachineUnreachable)
})
