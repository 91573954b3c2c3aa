// Instances of hosts with an agent are leased where its connection is. All others cost nothing more than before.

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { holdServices } from '../../../src/services/machines/agents/holds.ts'
import { noGateway } from '../../../src/services/machines/agents/sql.ts'
import { createFairLease } from '../../../src/services/reconciliation/fair-lease.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { explainStatements, type Plan } from '../../support/database/plans.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const [here, there] = [randomUUID(), randomUUID()]
let testDatabase: TestDatabase
let gateway: Gateway
let ids: bigint[]

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url })
  const actor = await gateway.newActor()
  await listMachines(gateway.operations, [{}, { machine: { publicIp: '203.0.113.2' } }])
  await gateway.sql(
    `WITH engine AS (
      INSERT INTO engines (machine_id, mark, identity, gpu_access, gpu_uuids, connected_at) VALUES (2, 'm', 'i', 'none', '{}', now())
    ) INSERT INTO agents (machine_id, key_hash, joined_at) VALUES (2, sha256('key'), now())`,
  )
  const offers = await gateway.sql('SELECT id FROM offers ORDER BY machine_id')
  ids = []
  for (const { id } of offers) ids.push((await gateway.rent(actor, BigInt(id as string))).id)
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

const leaseAs = async (gatewayId: string | undefined) => {
  const { ids } = await createFairLease({ database: gateway.database, gatewayId })({ limit: 10, busy: [] })
  await gateway.sql('UPDATE instance_looks SET leased_until = NULL')
  return ids.toSorted((a, b) => Number(a - b))
}
const claimAs = async (gatewayId: string) =>
  await holdServices({ database: gateway.database, gatewayId }).claim({ key: 'key', version: '1', generation: 0 })

it('leases what no gateway holds on any gateway', async () => {
  for (const gatewayId of [here, there, undefined, noGateway]) expect(await leaseAs(gatewayId)).toEqual(ids)
})

it('leases what a gateway holds on that gateway alone, until it gives it up or its hold ends', async () => {
  const [simulated] = ids
  const hold = await claimAs(here)
  expect(hold).toMatchObject({ machineId: 2, generation: 1 })
  expect([await leaseAs(here), await leaseAs(there)]).toEqual([ids, [simulated]])
  expect(await claimAs(there)).toMatchObject({ generation: 2 })
  expect([await leaseAs(here), await leaseAs(there)]).toEqual([[simulated], ids])
  const ofHere = holdServices({ database: gateway.database, gatewayId: here })
  expect(
    await ofHere.renew([
      { machineId: 2, generation: 1 },
      { machineId: 2, generation: 2 },
    ]),
  ).toEqual([])
  await ofHere.release([{ machineId: 2, generation: 2 }])
  expect(await leaseAs(here)).toEqual([simulated])
  await gateway.sql("UPDATE agents SET held_until = now() - interval '1 ms'")
  expect(await leaseAs(here)).toEqual(ids)
  const ofThere = holdServices({ database: gateway.database, gatewayId: there })
  expect(await ofThere.renew([{ machineId: 2, generation: 2 }])).toEqual([{ machineId: 2, generation: 2 }])
  expect(await leaseAs(here)).toEqual([simulated])
  await ofThere.release([{ machineId: 2, generation: 2 }])
  expect(await leaseAs(here)).toEqual(ids)
})

it('makes all instances of a host due when it connects', async () => {
  await gateway.sql("UPDATE instance_looks SET due_at = now() + interval '1 hour'")
  await claimAs(here)
  expect(await gateway.sql('SELECT instance_id::text FROM instance_looks WHERE due_at <= now()')).toEqual([
    { instance_id: String(ids[1]) },
  ])
})

it('does not even read the table of agents for instances whose hosts have none', async () => {
  await gateway.sql('UPDATE instance_looks SET due_at = now()')
  const scans = async () => {
    const plans = (await explainStatements(() => leaseAs(here))).flatMap(({ plan }) => findScans(plan, 'agents'))
    return plans.map(plan => plan['Actual Loops'])
  }
  expect((await scans()).some(loops => loops > 0)).toBe(true)
  await gateway.sql('UPDATE instance_looks SET due_at = NULL WHERE agent_machine_id IS NOT NULL')
  const loops = await scans()
  expect(loops.length).toBeGreaterThan(0)
  expect(loops.every(loop => loop === 0)).toBe(true)
})

it('has no use for a key that was revoked', async () => {
  await gateway.sql('UPDATE agents SET key_hash = NULL, gateway_id = NULL, held_until = NULL')
  expect(await claimAs(here)).toBeUndefined()
})

function findScans(plan: Plan, table: string): Plan[] {
  const below = (plan.Plans ?? []).flatMap(one => findScans(one, table))
  return plan['Relation Name'] === table ? [plan, ...below] : below
}
