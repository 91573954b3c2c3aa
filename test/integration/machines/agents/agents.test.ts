// Agents of hosts that are connected to one of two gateways, over real sockets.

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../../support/app.ts'
import { listMachines } from '../../../support/factories.ts'
import { newHostKey, openSimulatedHost, startAgent, type TestAgent } from '../../../support/machines/hosts.ts'
import { type Recorded, recordSpans, spansBelow } from '../../../support/spans.ts'
import { serveApp } from '../../../support/streams.ts'

let [first, second]: [TestApp, TestApp] = [] as never
let servers: Awaited<ReturnType<typeof serveApp>>[]
let host: ReturnType<typeof openSimulatedHost>
let machineId = 0
let hostKey: string
let renter: string
const agents: TestAgent[] = []
let recorded: Recorded

beforeAll(async () => {
  recorded = recordSpans()
  first = await startApp({ now: undefined, simulatedDelay: 0 })
  second = await startApp({ now: undefined, simulatedDelay: 0, sharedApp: first })
  servers = [await serveApp(first), await serveApp(second)]
  for (const app of [first, second]) app.startWork()
  host = openSimulatedHost(first.database.url)
  renter = await first.newKey(null, { creditNanos: 100_000_000_000n })
})

afterAll(async () => {
  for (const server of servers) await server.close()
  await second.close()
  await host.close()
  await first.close()
  await recorded.stop()
})

beforeEach(async () => {
  machineId += 1
  await listMachines(first.operations, [{ machine: { publicIp: `203.0.113.${machineId}` } }])
  hostKey = await newHostKey(first.operations, urlOf(0), machineId)
})

afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.stop()
})

const urlOf = (place: 0 | 1) => (servers[place] as { url: string }).url

async function connect(place: 0 | 1, options: { key?: string; protocols?: number[] } = {}): Promise<TestAgent> {
  const agent = startAgent({ gateway: urlOf(place), key: hostKey, provider: host.provider, ...options })
  agents.push(agent)
  await expect.poll(() => agent.connections() > 0 || agent.failure()).toBeTruthy()
  return agent
}

async function rent(): Promise<number> {
  const [offer] = (await first.sql('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL', [
    machineId,
  ])) as {
    id: string
  }[]
  const onstart = 'echo hello'
  const answer = await first.rest(renter, 'PUT', `/asks/${offer?.id}/`, { image: 'ubuntu', onstart })
  expect(answer).toMatchObject({ status: 200 })
  return answer.body.new_contract
}

const statusOf = async (id: number) =>
  (
    (await first.sql('SELECT status, unreachable_at FROM instances WHERE id = $1', [id])) as Record<string, unknown>[]
  )[0]
const untilRunning = (id: number) =>
  expect.poll(() => statusOf(id), { timeout: 15_000 }).toMatchObject({ status: 'running' })
const hold = async () =>
  (
    (await first.sql('SELECT gateway_id, generation FROM agents WHERE machine_id = $1', [machineId])) as {
      gateway_id: string | null
      generation: number
    }[]
  )[0]
const execute = (app: TestApp, id: number, command = 'echo hi') =>
  app.graphql(
    renter,
    'mutation ($id: ID!, $command: String!) { executeCommand(input: {id: $id, command: $command}) { ... on ExecuteCommandSuccess { output } ... on Error { message } } }',
    { id: String(id), command },
  )

describe('the host of a machine', () => {
  it('runs what is rented, whichever gateway it is connected to, and tells both its logs', async () => {
    await connect(1)
    const id = await rent()
    await untilRunning(id)
    for (const app of [first, second]) {
      const { data, errors } = await app.graphql(renter, 'query ($id: ID!) { instance(id: $id) { logs { text } } }', {
        id: String(id),
      })
      expect(errors).toBeUndefined()
      expect(JSON.stringify(data)).toContain('hello')
    }
    expect(await first.rest(renter, 'DELETE', `/instances/${id}/`)).toMatchObject({ status: 200 })
    await expect
      .poll(() => first.sql('SELECT id FROM instances WHERE id = $1 AND removed_at IS NOT NULL', [id]), {
        timeout: 15_000,
      })
      .toHaveLength(1)
    expect(await first.sql('SELECT * FROM agent_requests')).toEqual([])
  })

  it('keeps its instances while it connects to another gateway', async () => {
    const before = await connect(0)
    const id = await rent()
    await untilRunning(id)
    await before.stop()
    await connect(1)
    await expect.poll(() => statusOf(id), { timeout: 15_000 }).toEqual({ status: 'running', unreachable_at: null })
    expect(await host.provider.inventory(machineId, AbortSignal.timeout(1_000))).toMatchObject({
      instanceIds: [BigInt(id)],
    })
  })

  it('is unreachable while it is not connected, and its instances stay', async () => {
    const agent = await connect(0)
    const id = await rent()
    await untilRunning(id)
    await agent.stop()
    // Again and again: a pass that has begun before says itself when the next one is due.
    const lookAt = async () => {
      await first.sql('UPDATE instance_looks SET due_at = now() WHERE instance_id = $1', [id])
      return await statusOf(id)
    }
    await expect.poll(lookAt, { timeout: 15_000, interval: 500 }).toMatchObject({
      status: 'running',
      unreachable_at: expect.any(Date),
    })
    await connect(0)
    await expect.poll(() => statusOf(id), { timeout: 15_000 }).toEqual({ status: 'running', unreachable_at: null })
  })

  it('has one connection: the newest', async () => {
    const old = await connect(0)
    const { generation } = (await hold()) as { generation: number }
    await connect(1)
    expect((await hold())?.generation).toBe(generation + 1)
    await expect.poll(() => old.lines.join(), { timeout: 8_000 }).toContain('The host is not connected.')
  })
})

describe('a key', () => {
  it('ends with a new token within seconds, and the agent says what to do', async () => {
    const agent = await connect(0)
    await first.operations.machines.invite(machineId, { gpuAccess: 'none', validMs: 60_000 })
    await expect.poll(() => String(agent.failure()), { timeout: 20_000 }).toContain('Join again with a token')
    expect((await hold())?.gateway_id).toBeNull()
  })

  it('of nobody is refused before the socket opens', async () => {
    const agent = await connect(0, { key: `berth_host_${'x'.repeat(43)}` })
    expect(String(agent.failure())).toContain('The key of this host is not valid')
  })

  it('gets the toolbox of the gateway, and nobody else', async () => {
    const ask = (key: string) => fetch(`${urlOf(0)}/host/toolbox`, { headers: { authorization: `Bearer ${key}` } })
    expect((await ask('nobody')).status).toBe(401)
    expect((await ask(hostKey)).status).toBe(404)
  })
})

describe('the protocol', () => {
  it('is the newest that both speak', async () => {
    await connect(0, { protocols: [3, 2] })
  })

  it('is refused if the other side speaks only others, with what to do', async () => {
    expect(String((await connect(0, { protocols: [3] })).failure())).toContain('Upgrade the gateways first.')
    expect(String((await connect(0, { protocols: [0] })).failure())).toContain('Upgrade Berth on this host.')
  })
})

it('passes a command on to the gateway that has the host, once', async () => {
  await connect(1)
  const id = await rent()
  await untilRunning(id)
  const before = await first.sql('SELECT count(*)::int FROM agent_requests')
  for (const app of [first, second])
    expect(await execute(app, id)).toMatchObject({ errors: undefined, data: { executeCommand: { output: 'hi\n' } } })
  await expect.poll(() => first.sql('SELECT count(*)::int FROM agent_requests')).toEqual(before)
})

it('passes a command on in the trace of its request', async () => {
  await connect(1)
  const id = await rent()
  await untilRunning(id)
  const callsOfMutations = () => {
    const spans = recorded.spans()
    const below = spans.filter(({ name }) => name === 'mutation').flatMap(span => spansBelow(spans, span))
    return below.filter(({ name }) => name.endsWith(' exec'))
  }
  const executeAnew = async () => {
    recorded.forget()
    await execute(first, id)
    return callsOfMutations().map(({ name }) => name)
  }
  // The gateway hears within a moment that the machine has a host.
  await expect.poll(executeAnew, { timeout: 15_000 }).toContain('agent exec')
  await executeAnew()
  const attributes = { 'berth.machine.id': machineId }
  const calls = ['agent exec', 'pass on exec'].map(name => ({ name, attributes }))
  await expect.poll(callsOfMutations, { timeout: 15_000 }).toMatchObject(calls)
})

it('gives its hosts up when it stops', async () => {
  const third = await startApp({ now: undefined, sharedApp: first, simulatedDelay: 0 })
  const server = await serveApp(third)
  third.startWork()
  const agent = startAgent({ gateway: server.url, key: hostKey, provider: host.provider })
  agents.push(agent)
  await expect.poll(() => agent.connections()).toBe(1)
  expect((await hold())?.gateway_id).not.toBeNull()
  third.drain()
  await expect.poll(hold).toMatchObject({ gateway_id: null })
  await sleep(10)
  await server.close()
  await third.close()
})
