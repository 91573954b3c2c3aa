// Gateways and agents that are killed: no container is lost, doubled or left over, and all hosts are back soon.

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectMachinesMatchDesired } from '../support/crashes/invariants.ts'
import { type AgentFleet, loseGateway, openAgentFleet } from '../support/machines/agent-fleet.ts'
import type { GatewayProcess } from '../support/processes/programs.ts'

const rentals = 10
const hosts = 50

let fleet: AgentFleet

beforeAll(async () => {
  fleet = await openAgentFleet(hosts)
}, 120_000)

afterAll(() => fleet?.close())

it(`loses nothing when agents and gateways are killed during ${rentals} rentals`, async () => {
  const { keys, sql, startAgents, rent, killGateway, request } = fleet
  const [first, second] = [keys.slice(0, 5), keys.slice(5, rentals)]
  let one = await startAgents(first)
  let other = await startAgents(second)
  const ids: number[] = []
  const renting = (async () => {
    for (let machineId = 1; machineId <= rentals; machineId += 1) {
      ids.push(await rent(machineId))
      await sleep(150)
    }
  })()
  await sleep(300)
  one.child.kill('SIGKILL')
  await sleep(300)
  one = await startAgents(first)
  await killGateway()
  other.child.kill('SIGKILL')
  other = await startAgents(second)
  await renting
  await killGateway()
  const statuses = () => sql('SELECT DISTINCT status::text, unreachable_at FROM instances')
  await expect.poll(statuses, { timeout: 60_000, interval: 200 }).toEqual([{ status: 'running', unreachable_at: null }])
  await expectMachinesMatchDesired(sql)
  one.child.kill('SIGKILL')
  for (const id of ids) await request('DELETE', `/instances/${id}/`)
  await killGateway()
  one = await startAgents(first)
  const left = () => sql('SELECT id FROM instances WHERE removed_at IS NULL')
  await expect.poll(left, { timeout: 60_000, interval: 200 }).toEqual([])
  await expectMachinesMatchDesired(sql)
  expect(await sql('SELECT * FROM simulated_containers')).toEqual([])
  for (const host of [one, other]) host.child.kill('SIGTERM')
  expect(await Promise.all([one.exit, other.exit])).toEqual([0, 0])
}, 240_000)

it(`has all of ${hosts} hosts back within 10 seconds after a gateway was killed, and without a storm`, async () => {
  const { keys, startAgents, holds } = fleet
  const host = await startAgents(keys)
  const held = async () => (await holds()).reduce((sum, { count }) => sum + count, 0)
  await expect.poll(held, { timeout: 15_000 }).toBe(hosts)
  expect((await holds()).length).toBe(2)
  await loseGateway(fleet)
  host.child.kill('SIGTERM')
  expect(await host.exit).toBe(0)
}, 120_000)

it('moves the hosts of a gateway that hangs, which does nothing with them when it goes on', async () => {
  const { keys, sql, startAgents, rent, gateways, useGateways, newGateway, expireLeases } = fleet
  useGateways([...gateways(), await newGateway()])
  const host = await startAgents(keys)
  const holders = () =>
    sql('SELECT gateway_id, count(*)::int AS count FROM agents WHERE held_until > now() GROUP BY gateway_id')
  const counts = async () => (await holders()).map(({ count }) => count)
  await expect.poll(async () => (await counts()).length, { timeout: 15_000 }).toBe(2)
  const machineId = 20
  const id = await rent(machineId)
  const statuses = () => sql('SELECT status::text, unreachable_at FROM instances WHERE id = $1', [id])
  const isRunning = [{ status: 'running', unreachable_at: null }]
  await expect.poll(statuses, { timeout: 30_000 }).toEqual(isRunning)
  const [hung, ...others] = gateways() as [GatewayProcess, ...GatewayProcess[]]
  const hungMs = performance.now()
  hung.child.kill('SIGSTOP')
  useGateways(others)
  await expect.poll(counts, { timeout: 25_000, interval: 100 }).toEqual([hosts])
  process.stdout.write(`The hosts of a hung gateway moved within ${Math.round(performance.now() - hungMs)} ms.\n`)
  const before = await holders()
  hung.child.kill('SIGCONT')
  await expireLeases()
  await sleep(3_000)
  await expect.poll(statuses, { timeout: 30_000 }).toEqual(isRunning)
  // A host may have connected anew meanwhile, but never to the gateway that hung.
  await expect.poll(holders, { timeout: 10_000 }).toEqual(before)
  await expectMachinesMatchDesired(sql)
  useGateways([...gateways(), hung])
  host.child.kill('SIGTERM')
  expect(await host.exit).toBe(0)
}, 120_000)
