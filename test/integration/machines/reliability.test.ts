// Machines lose reliability by what happens to them, and get it back after 30 days without failures.

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { scoreOf } from '../../../src/domain/offers/offers.ts'
import { holdServices } from '../../../src/services/machines/agents/holds.ts'
import { reliabilityChores } from '../../../src/services/machines/reliability.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureStatements } from '../../support/database/captured-statements.ts'
import { openGateway } from '../../support/gateways.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

let app: TestApp
let rentals: Rentals
let key: string
let machineId: number

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
})

afterAll(() => app.close())

beforeEach(async () => {
  key = await app.newKey(null, someCredit)
  machineId = await newMachine()
})

async function newMachine(): Promise<number> {
  const offerId = await rentals.newOffer({ reliability: 0.99, listedUntil: new Date('2030-01-01') })
  const [row] = await app.sql(`SELECT machine_id FROM offers WHERE id = ${offerId}`)
  return (row as { machine_id: number }).machine_id
}

/** Notes failed starts on the machine, one of each account. */
async function failStarts(accounts: number[], byMachine = true): Promise<void> {
  const at = app.clock.now().toISOString()
  for (const account of accounts)
    await app.sql(`INSERT INTO failed_starts (instance_id, account_id, machine_id, by_machine, at)
      SELECT coalesce(max(instance_id), 1000000) + 1, ${account}, ${machineId}, ${byMachine}, '${at}' FROM failed_starts`)
}

async function pass(ms: number, step = 5 * minute): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    app.clock.advance(step)
    await app.runUntilIdle()
  }
}

async function reliability(id = machineId): Promise<number> {
  const [row] = await app.sql(`SELECT reliability FROM machines WHERE id = ${id}`)
  return (row as { reliability: number }).reliability
}

it('counts failed starts that the machine is to blame for, once for each account', async () => {
  await failStarts([11, 12, 12, 12])
  await failStarts([13, 14], false)
  await pass(5 * minute)
  expect(await reliability()).toBeCloseTo((0.99 * 20) / 22, 10)
})

it('counts the start of a real rental that failed', async () => {
  await app.operations.machines.unplug(machineId)
  const query = `{ offers(filter: { machineId: { eq: "${machineId}" } }) { nodes { id } } }`
  const [offer] = (await app.graphql(key, query)).data.offers.nodes
  await app.rest(key, 'PUT', `/asks/${offer.id.slice('off_'.length)}/`, { image: 'ubuntu' })
  await pass(15 * minute, minute)
  const found = await reliability()
  expect(found).toBeLessThanOrEqual((0.99 * 20) / 21)
  expect(found).toBeGreaterThan((0.985 * 20) / 21)
})

it('counts the time in which a machine does not answer, and shows that in its offers', async () => {
  const id = await rentals.rent(key, {}, { reliability: 0.8, numGpus: 2 })
  await rentals.converge()
  const { machine_id: silent } = await rentals.read(key, id)
  await app.operations.machines.unplug(silent)
  await pass(6 * hour)
  const found = await reliability(silent)
  expect(found).toBeCloseTo(0.8 * (1 - 6 / 720), 2)
  expect(found).toBeLessThan(0.797)
  await app.operations.machines.plug(silent)
  const offers = (await app.sql(`SELECT reliability, score, dlperf, price_nanos FROM offers
    WHERE machine_id = ${silent} AND withdrawn_at IS NULL`)) as Record<string, number>[]
  expect(offers.length).toBeGreaterThan(0)
  for (const { reliability: copied, score, dlperf, price_nanos: price } of offers) {
    expect(copied).toBe(found)
    expect(score).toBe(scoreOf(dlperf as number, BigInt(price as number), found))
  }
})

it('does not count a drained machine, nor the time in which no gateway ran', async () => {
  const seconds = async (id: number) =>
    (await app.sql(`SELECT sum(seconds)::int AS seconds FROM silent_days WHERE machine_id = ${id}`))[0]
  const ids = [await rentals.rent(key), await rentals.rent(key)]
  await rentals.converge()
  const [drained, silent] = await Promise.all(ids.map(async id => (await rentals.read(key, id)).machine_id as number))
  if (drained === undefined || silent === undefined) throw new Error('An instance has no machine.')
  await app.operations.machines.drain(drained)
  for (const id of [drained, silent]) await app.operations.machines.unplug(id)
  await pass(10 * minute, minute)
  const before = (await seconds(silent)) as { seconds: number }
  expect(before.seconds).toBeGreaterThan(6 * 60)
  app.clock.advance(10 * hour)
  await app.runUntilIdle()
  expect(await seconds(silent)).toEqual(before)
  expect(await seconds(drained)).toEqual({ seconds: null })
  for (const id of [drained, silent]) await app.operations.machines.plug(id)
})

it('does not count a host whose gateway has just stopped', async () => {
  const held = { machineId, generation: 1 }
  const gatewayId = '00000000-0000-0000-0000-000000000001'
  const gateway = openGateway({ url: app.database.url, now: app.clock.now })
  const holds = holdServices({ database: gateway.database, gatewayId })
  try {
    const joinedAt = app.clock.now().toISOString()
    await app.sql(`WITH engine AS (
        INSERT INTO engines (machine_id, mark, identity, gpu_access, gpu_uuids, connected_at)
        VALUES (${machineId}, 'm', 'reliable', 'none', '{}', '${joinedAt}')
      ) INSERT INTO agents (machine_id, key_hash, joined_at) VALUES (${machineId}, sha256('reliable'), '${joinedAt}')`)
    await app.sql(`UPDATE agents SET gateway_id = '${gatewayId}', generation = 1,
      held_until = '${new Date(app.clock.now().getTime() + 5 * minute).toISOString()}' WHERE machine_id = ${machineId}`)
    const update = async () => {
      await reliabilityChores({ database: gateway.database }).updateReliabilities()
      return await app.sql(`SELECT seconds FROM silent_days WHERE machine_id = ${machineId}`)
    }
    await update()
    app.clock.advance(3 * minute)
    await holds.release([held])
    app.clock.advance(10_000)
    expect(await update()).toEqual([])
    app.clock.advance(2 * minute)
    expect(await update()).toEqual([{ seconds: 120 }])
    app.clock.advance(1_600)
    expect(await update()).toEqual([{ seconds: 122 }])
  } finally {
    await gateway.close()
    await app.sql(`DELETE FROM engines WHERE machine_id = ${machineId}`)
  }
})

it('gets back exactly what it was listed with after 30 days, and keeps no history', async () => {
  await failStarts([11])
  await pass(5 * minute)
  expect(await reliability()).toBeLessThan(0.95)
  await pass(31 * day, day)
  await pass(10 * minute)
  expect(await reliability()).toBe(0.99)
  const rows = await app.sql(`SELECT machine_id FROM listed_reliabilities WHERE machine_id = ${machineId}
    UNION ALL SELECT machine_id FROM failed_starts WHERE machine_id = ${machineId}`)
  expect(rows).toEqual([])
})

it('does not touch a machine whose reliability changes by less than 0.001', async () => {
  const today = app.clock.now().toISOString().slice(0, 10)
  await app.sql(`INSERT INTO silent_days (machine_id, day, seconds) VALUES (${machineId}, '${today}', 2000)`)
  const version = `SELECT xmin::text FROM machines WHERE id = ${machineId}`
  const before = await app.sql(version)
  await pass(10 * minute)
  expect(await app.sql(version)).toEqual(before)
  await app.sql(`UPDATE silent_days SET seconds = 3000 WHERE machine_id = ${machineId}`)
  await pass(10 * minute)
  expect(await reliability()).toBeCloseTo(0.99 * (1 - 3000 / (30 * 86_400)), 10)
})

it('notes a minute once when two gateways do it, and takes as many statements for many machines', async () => {
  const gateways = [0, 1].map(() => openGateway({ url: app.database.url, now: app.clock.now }))
  try {
    const update = async (at: number) => {
      const gateway = gateways[at]
      if (gateway) await reliabilityChores({ database: gateway.database }).updateReliabilities()
    }
    const id = await rentals.rent(key)
    await rentals.converge()
    const { machine_id: silent } = await rentals.read(key, id)
    await app.sql(`UPDATE instances SET unreachable_at = '${app.clock.now().toISOString()}' WHERE id = ${id}`)
    app.clock.advance(5 * minute)
    await update(0)
    app.clock.advance(minute)
    await app.sql(`DELETE FROM silent_days`)
    await Promise.all([update(0), update(1), update(0), update(1)])
    expect(await app.sql(`SELECT seconds FROM silent_days WHERE machine_id = ${silent}`)).toEqual([{ seconds: 60 }])

    const counted = async () => {
      app.clock.advance(5 * minute)
      return (await captureStatements(() => update(0))).length
    }
    await failStarts([21])
    const few = await counted()
    for (let count = 1; count <= 5; count += 1) {
      machineId = await newMachine()
      await failStarts([21, 22])
    }
    expect(await counted()).toBe(few)
    expect(await reliability()).toBeLessThan(0.95)
  } finally {
    for (const gateway of gateways) await gateway.close()
  }
})
