// Many hosts whose agents speak the real protocol over simulated containers, on two gateways, one of which is killed.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectMachinesMatchDesired } from '../../support/crashes/invariants.ts'
import { type AgentFleet, loseGateway, openAgentFleet } from '../../support/machines/agent-fleet.ts'
import type { HostProcess } from '../../support/machines/host-processes.ts'
import { measureUsage } from '../../support/processes/usage.ts'

const agents = 200
const perProcess = 50
const measureMs = 30_000

let fleet: AgentFleet

beforeAll(async () => {
  fleet = await openAgentFleet(agents)
})

afterAll(() => fleet?.close())

it(`has all of ${agents} hosts back within 10 seconds after a gateway was killed, with their instances`, async () => {
  const { sql, keys, gateways, holds, startAgents, rent } = fleet
  const report = async (what: string) =>
    process.stdout.write(`${what}: ${JSON.stringify(await measureUsage([...gateways(), ...hosts], measureMs))}\n`)
  const hosts: HostProcess[] = []
  await report('Two gateways without hosts')
  for (let first = 0; first < agents; first += perProcess)
    hosts.push(await startAgents(keys.slice(first, first + perProcess)))
  const held = async () => (await holds()).reduce((sum, { count }) => sum + count, 0)
  await expect.poll(held, { timeout: 30_000 }).toBe(agents)
  expect((await holds()).length).toBe(2)
  await report(`Two gateways and ${hosts.length} processes of ${perProcess} agents, idle`)

  for (let machineId = 1; machineId <= agents; machineId += 1) await rent(machineId)
  const statuses = () => sql('SELECT DISTINCT status::text, unreachable_at FROM instances')
  const running = [{ status: 'running', unreachable_at: null }]
  await expect.poll(statuses, { timeout: 120_000, interval: 500 }).toEqual(running)
  await report('The same, with an instance on each host')

  const events = async () => (await sql('SELECT count(*)::int AS count FROM events'))[0].count
  const before = await events()
  await loseGateway(fleet)
  await report('One gateway with all hosts, after the other was killed')
  await expect.poll(statuses, { timeout: 120_000, interval: 500 }).toEqual(running)
  await expectMachinesMatchDesired(sql)
  expect(await events()).toBe(before)
  for (const host of hosts) host.child.kill('SIGTERM')
  expect(await Promise.all(hosts.map(({ exit }) => exit))).toEqual(hosts.map(() => 0))
})
