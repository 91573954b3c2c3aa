// The gateway that has the host is killed while another one uses the host.

import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { MachineUnreachable, type Provider } from '../../../../src/providers/provider.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'
import { listMachines } from '../../../support/factories.ts'
import { type AgentGateway, openAgentGateway } from '../../../support/machines/agent-gateway.ts'
import { newHostKey, startAgent, type TestAgent } from '../../../support/machines/hosts.ts'
import { startTcpBalancer, type TcpBalancer } from '../../../support/machines/tcp-balancer.ts'
import { type GatewayProcess, startGateway } from '../../../support/processes/programs.ts'
import { localProvider, type Told } from '../../../support/ssh/local-provider.ts'

const told: Told = { sizes: [], terminals: [], signals: [], hungUp: 0 }
let testDatabase: TestDatabase
let killed: GatewayProcess
let here: AgentGateway
let later: AgentGateway
let balancer: TcpBalancer
let agent: TestAgent | undefined

beforeAll(async () => {
  testDatabase = await createDatabase()
  killed = await startGateway({
    ...{ DATABASE_URL: testDatabase.url, BERTH_SECRET: 'a secret of tests', DEMO_MARKET: 'false', GRAPHIQL: 'false' },
    ...{ DATABASE_POOL_SIZE: '4' },
  })
  here = await openAgentGateway(testDatabase.url, { address: true, timing: { failedMs: 0 } })
  later = await openAgentGateway(testDatabase.url)
  balancer = await startTcpBalancer()
}, 180_000)

afterAll(async () => {
  await agent?.stop()
  await balancer.close()
  await here.close()
  await later.close()
  killed.child.kill('SIGKILL')
  await killed.exit
  await testDatabase.drop()
})

const start = (command: string) =>
  here.provider.open(
    { machineId: 1, instanceId: 7n, accountId: 1 },
    { command, terminal: null },
    AbortSignal.timeout(20_000),
  )

async function run(command: string): Promise<[string, number]> {
  const { stdout, exitCode } = await start(command)
  return [(await buffer(stdout)).toString(), await exitCode]
}

it('ends the streams that go over it, and finds the host again at its next gateway', async () => {
  balancer.use([killed.url])
  await listMachines(here.operations, [{}])
  const key = await newHostKey(here.operations, balancer.url, 1)
  agent = startAgent({ gateway: balancer.url, key, provider: localProvider(told) as Provider })
  await expect.poll(() => agent?.connections(), { timeout: 15_000 }).toBe(1)
  const isOpen = async () => await run('echo hello').catch(String)
  await expect.poll(isOpen, { timeout: 30_000 }).toEqual(['hello\n', 0])
  const { stdin, stdout, exitCode } = await start('cat')
  stdin.write('before')
  await once(stdout, 'data')
  balancer.use([later.url])
  killed.child.kill('SIGKILL')
  await expect(exitCode).rejects.toThrow(MachineUnreachable)
  await expect.poll(() => told.hungUp).toBeGreaterThan(0)
  await expect.poll(isOpen, { timeout: 30_000 }).toEqual(['hello\n', 0])
  const { gatewayId } = await here.database.prisma.agent.findUniqueOrThrow({ where: { machineId: 1 } })
  expect([gatewayId, agent.connections()]).toEqual([later.gatewayId, 2])
}, 180_000)
