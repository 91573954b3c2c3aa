// Machines on which the container of a lost rental still runs on the GPUs of another instance.

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { GpusTaken, type Provider } from '../../../src/providers/provider.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let actor: Actor
let machineId = 0
let areTaken = false

const wrapProvider = (provider: Provider): Provider => ({
  ...provider,
  async start(ref, signal) {
    if (areTaken) throw new GpusTaken('Another container still runs.')
    await provider.start(ref, signal)
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
  areTaken = true
  await listMachines(gateway.operations, [{}])
})

async function rent(): Promise<bigint> {
  const [offer] = await gateway.sql('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL', [machineId])
  return (await gateway.rent(actor, BigInt(offer?.['id'] as string))).id
}

async function advance(ms: number): Promise<void> {
  await gateway.idle()
  for (let remaining = ms; remaining > 0; remaining -= 10_000) {
    clock.advance(10_000)
    await gateway.idle()
  }
}

const statusOf = async (id: bigint) =>
  (await gateway.sql('SELECT status::text, reason_code, reason_message FROM instances WHERE id = $1', [id]))[0]
const countMeters = async (id: bigint) =>
  (await gateway.sql("SELECT FROM meters WHERE instance_id = $1 AND kind = 'gpu' AND rate_nanos > 0", [id])).length

const waits = {
  status: 'loading',
  reason_code: 'MACHINE_ERROR',
  reason_message: 'Another container still runs on the GPUs. Berth tries again.',
}

it('starts an instance within a minute after its GPUs have become free, and charges nothing before', async () => {
  const id = await rent()
  await advance(60_000)
  expect(await statusOf(id)).toEqual(waits)
  expect(await countMeters(id)).toBe(0)
  areTaken = false
  await advance(80_000)
  expect(await statusOf(id)).toMatchObject({ status: 'running' })
})

it('ends the start of an instance whose GPUs do not become free, as any other that takes too long', async () => {
  const id = await rent()
  await advance(29 * 60_000)
  expect(await statusOf(id)).toEqual(waits)
  await advance(3 * 60_000)
  expect(await statusOf(id)).toMatchObject({ status: 'exited', reason_code: 'START_TIMEOUT' })
  expect(await gateway.sql('SELECT machine_id FROM failed_starts WHERE machine_id = $1', [machineId])).toHaveLength(1)
})

it('leaves an instance stopped that is told to stop while it waits', async () => {
  const id = await rent()
  await advance(30_000)
  await gateway.services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
  areTaken = false
  await advance(60_000)
  expect(await statusOf(id)).toMatchObject({ status: 'stopped', reason_code: 'USER_REQUEST' })
})
