// Since when machines do not answer, as operators read it, and how many of them the metrics count.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Figures, openFigures } from '../../../src/database/roles/figures.ts'
import { holdServices } from '../../../src/services/machines/agents/holds.ts'
import { measureServices } from '../../../src/services/measures.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { urlAs } from '../../support/database/roles.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

const minute = 60_000
let app: TestApp
let gateway: Gateway
let figures: Figures
let rentals: Rentals

beforeAll(async () => {
  app = await startApp()
  gateway = openGateway({ url: app.database.url, now: app.clock.now })
  figures = openFigures(urlAs('metrics', app.database.url), gateway.database)
  rentals = rentalsOf(app)
})

afterAll(async () => {
  await figures.close()
  await gateway.close()
  await app.close()
})

async function machineOf(offerId: number): Promise<number> {
  const [row] = await app.sql(`SELECT machine_id FROM offers WHERE id = ${offerId}`)
  return (row as { machine_id: number }).machine_id
}

const measure = () => measureServices(figures).measureMarket()
const since = async (id: number) => (await app.operations.machines.byId(id)).unreachableSince

it('knows it of an idle machine by its plug or its host, and counts it after a minute unless it is drained', async () => {
  const unplugged = await machineOf(await rentals.newOffer())
  const hosted = await machineOf(await rentals.newOffer())
  await app.sql(`
    WITH engine AS (
      INSERT INTO engines (machine_id, mark, identity, gpu_access, gpu_uuids, connected_at)
      VALUES (${hosted}, 'mark', 'identity', 'none', '{}', now())
    ) INSERT INTO agents (machine_id, key_hash, joined_at)
    VALUES (${hosted}, sha256('key'), '${app.clock.now().toISOString()}')`)
  const holds = holdServices({ database: gateway.database, gatewayId: crypto.randomUUID() })
  const hold = await holds.claim({ key: 'key', version: '1', generation: 0 })
  expect([await since(unplugged), await since(hosted)]).toEqual([null, null])
  expect(await measure()).toMatchObject({ machinesUnreachable: 0, hostsConnected: 1 })

  const at = app.clock.now()
  await app.operations.machines.unplug(unplugged)
  await holds.release([{ machineId: hosted, generation: hold?.generation as number }])
  expect([await since(unplugged), await since(hosted)]).toEqual([at, at])
  expect(await measure()).toMatchObject({ machinesUnreachable: 0, hostsConnected: 0 })
  app.clock.advance(minute)
  expect(await measure()).toMatchObject({ machinesUnreachable: 2 })
  await app.operations.machines.drain(hosted)
  expect(await measure()).toMatchObject({ machinesUnreachable: 1 })
  await app.operations.machines.plug(unplugged)
  expect(await since(unplugged)).toBeNull()
  expect(await measure()).toMatchObject({ machinesUnreachable: 0 })
})

it('has the time of a revoked key as the beginning', async () => {
  const [row] = await app.sql('SELECT machine_id FROM agents')
  const { machine_id: id } = row as { machine_id: number }
  app.clock.advance(minute)
  const at = app.clock.now()
  await app.operations.machines.invite(id, { gpuAccess: 'none', validMs: minute })
  expect(await since(id)).toEqual(at)
})

it('counts machines by state, and instances by status', async () => {
  const before = await measure()
  const key = await app.newKey(null, someCredit)
  const machines = [await machineOf(await rentals.newOffer()), await machineOf(await rentals.newOffer())]
  await rentals.rent(key)
  await app.operations.machines.drain(machines[0] as number)
  await app.operations.machines.unlist(machines[0] as number)
  await app.sql(`UPDATE machines SET unconfirmed_at = now() WHERE id = ${machines[1]}`)
  const { machines: states, instances } = await measure()
  const countOf = (rows: typeof states, wanted: string) => rows.find(({ state }) => state === wanted)?.count ?? 0
  for (const [state, more] of Object.entries({ listed: 1, unlisted: 1, suspended: 1, draining: 0 }))
    expect(countOf(states, state), state).toBe(countOf(before.machines, state) + more)
  expect(instances).toEqual([{ status: 'created', count: 1 }])
})
