// The contract over a real socket, with an agent in a process of its own. Its containers are simulated.

import { afterAll, beforeAll, expect } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { listMachines } from '../support/factories.ts'
import { type AgentGateway, openAgentGateway } from '../support/machines/agent-gateway.ts'
import { type HostProcess, startHosts } from '../support/machines/host-processes.ts'
import { newHostKey } from '../support/machines/hosts.ts'
import { stopProgram } from '../support/processes/programs.ts'
import { testProviderContract } from './provider.ts'

let testDatabase: TestDatabase
let gateway: AgentGateway
let agent: HostProcess

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = await openAgentGateway(testDatabase.url)
  await listMachines(gateway.operations, [{}])
  const key = await newHostKey(gateway.operations, gateway.url, 1)
  agent = await startHosts({ gateway: gateway.url, keys: [key], database: testDatabase.url })
})

afterAll(async () => {
  expect(await stopProgram(agent)).toBe(0)
  await gateway.close()
  await testDatabase.drop()
})

testProviderContract('agent', () => ({
  createProvider: () => gateway.provider,
  finishPending: async () => {},
  async setUnreachable(unreachable) {
    await gateway.database.pool.query('DELETE FROM simulated_outages')
    if (unreachable) await gateway.database.pool.query('INSERT INTO simulated_outages VALUES (1, now())')
  },
}))
