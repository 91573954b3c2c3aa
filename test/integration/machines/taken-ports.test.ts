// Machines on which something else has a public port of a container.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { PortTaken, type Provider } from '../../../src/providers/provider.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let actor: Actor
let machineId = 0
let taken: number[]
/** The ports of each container, and what was asked of it. */
let made: Map<bigint, number[]>
let asked: string[]

const wrapProvider = (provider: Provider): Provider => ({
  ...provider,
  async ensure(spec, signal) {
    if (!made.has(spec.instanceId)) made.set(spec.instanceId, spec.ports.map(({ hostPort }) => hostPort).toSorted())
    await provider.ensure(spec, signal)
  },
  async start(ref, signal) {
    asked.push('start')
    if (made.get(ref.instanceId)?.some(port => taken.includes(port))) throw new PortTaken('The port is taken.')
    await provider.start(ref, signal)
  },
  async remove(ref, signal) {
    asked.push('remove')
    made.delete(ref.instanceId)
    await provider.remove(ref, signal)
  },
})

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now, wrapProvider })
  actor = await gateway.newActor()
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

beforeEach(async () => {
  machineId += 1
  ;[taken, made, asked] = [[], new Map(), []]
})

const addMachine = (lastPort: number) =>
  listMachines(gateway.operations, [{ machine: { publicIp: `203.0.113.${machineId}`, firstPort: 20_000, lastPort } }])

async function rent(): Promise<bigint> {
  const [offer] = await gateway.sql('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL', [machineId])
  const ports = [80, 81].map(port => ({ hostPort: port, containerPort: port, protocol: 'tcp' as const }))
  const environment = { env: [], ports, hostname: undefined, volumes: [] }
  return (await gateway.rent(actor, BigInt(offer?.['id'] as string), { launch: { environment } })).id
}

async function advance(ms: number): Promise<void> {
  await gateway.idle()
  for (let remaining = ms; remaining > 0; remaining -= 10_000) {
    clock.advance(10_000)
    await gateway.idle()
  }
}

const update = (id: bigint, targetState: 'running' | 'stopped') =>
  gateway.services.instances.update(actor, { ids: [id] }, { targetState })

const statusOf = async (id: bigint) =>
  (await gateway.sql('SELECT status::text, reason_code FROM instances WHERE id = $1', [id]))[0]
const portsOf = async (id: bigint) =>
  (await gateway.sql('SELECT host_port FROM port_bindings WHERE instance_id = $1 ORDER BY 1', [id])).map(
    row => row['host_port'],
  )
const freePorts = async () => (await gateway.sql('SELECT free_ports FROM machines WHERE id = $1', [machineId]))[0]

describe('an instance whose port is taken', () => {
  it('gets others, with a new container, if it has not run', async () => {
    await addMachine(20_099)
    taken = [20_000]
    const id = await rent()
    expect(await portsOf(id)).toEqual([20_000, 20_001, 20_002])
    const free = await freePorts()
    await advance(60_000)
    expect(await statusOf(id)).toEqual({ status: 'running', reason_code: 'STARTED' })
    const ports = await portsOf(id)
    expect(ports).toHaveLength(3)
    for (const port of [20_000, 20_001, 20_002]) expect(ports).not.toContain(port)
    expect(made.get(id)).toEqual(ports)
    expect(asked.filter(verb => verb === 'remove')).toHaveLength(1)
    expect(await freePorts()).toEqual(free)
  })

  it('keeps them, and its container, if it has run', async () => {
    await addMachine(20_099)
    const id = await rent()
    await advance(60_000)
    expect(await statusOf(id)).toMatchObject({ status: 'running' })
    await update(id, 'stopped')
    await advance(60_000)
    taken = [20_000]
    await update(id, 'running')
    await advance(60_000)
    expect(await statusOf(id)).toEqual({ status: 'loading', reason_code: 'MACHINE_ERROR' })
    expect(asked).not.toContain('remove')
    taken = []
    await advance(120_000)
    expect(await statusOf(id)).toMatchObject({ status: 'running' })
  })

  it('keeps them if the machine has no others', async () => {
    await addMachine(20_003)
    taken = [20_000]
    const id = await rent()
    await advance(60_000)
    expect(await statusOf(id)).toEqual({ status: 'loading', reason_code: 'MACHINE_ERROR' })
    expect(await portsOf(id)).toEqual([20_000, 20_001, 20_002])
    taken = []
    await advance(120_000)
    expect(await statusOf(id)).toMatchObject({ status: 'running' })
  })
})
