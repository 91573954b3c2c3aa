// One host, whose containers are processes of this machine, and the gateways to which it may connect.

import { buffer } from 'node:stream/consumers'
import { expect } from 'vitest'
import type { Provider } from '../../../src/providers/provider.ts'
import { createDatabase } from '../database/database.ts'
import { listMachines } from '../factories.ts'
import { localProvider, type Told } from '../ssh/local-provider.ts'
import { type AgentGateway, openAgentGateway } from './agent-gateway.ts'
import { newHostKey, startAgent, type TestAgent } from './hosts.ts'
import { startTcpBalancer } from './tcp-balancer.ts'

type GatewayOptions = Parameters<typeof openAgentGateway>[1]

const container = { machineId: 1, instanceId: 7n, accountId: 1 }

/** What gateways log. */
export const messages = {
  opened: 'A host of another gateway has opened a second connection.',
  refused: 'A host of another gateway did not open a second connection.',
  closed: 'The second connection of a host is closed.',
}

export const countLines = ({ lines }: AgentGateway, message: keyof typeof messages) =>
  lines.filter(({ msg }) => msg === messages[message]).length

export const start = ({ provider }: AgentGateway, command: string, signal = AbortSignal.timeout(30_000)) =>
  provider.open(container, { command, terminal: null }, signal)

export const connectToPort = ({ provider }: AgentGateway, port: number) =>
  provider.connect(container, port, AbortSignal.timeout(30_000))

/** The output and the exit code of a command. */
export async function run(gateway: AgentGateway, command: string): Promise<[string, number]> {
  const { stdout, exitCode } = await start(gateway, command)
  return [(await buffer(stdout)).toString(), await exitCode]
}

/** Which gateway has the host, and since which connection. */
export const holdOf = async ({ database }: AgentGateway) =>
  await database.prisma.agent.findUniqueOrThrow({
    where: { machineId: 1 },
    select: { gatewayId: true, generation: true },
  })

export type OneHost = Awaited<ReturnType<typeof openOneHost>>

export async function openOneHost() {
  const testDatabase = await createDatabase()
  const told: Told = { sizes: [], terminals: [], signals: [], hungUp: 0 }
  const open: { close(): Promise<void> }[] = []
  const joining = await openAgentGateway(testDatabase.url)
  await listMachines(joining.operations, [{}])
  let key = await newHostKey(joining.operations, joining.url, 1)
  await joining.close()

  async function newGateway(options: GatewayOptions = {}): Promise<AgentGateway> {
    const gateway = await openAgentGateway(testDatabase.url, options)
    let closing: Promise<void> | undefined
    const close = () => {
      closing ??= gateway.close()
      return closing
    }
    const one = { ...gateway, close }
    open.push(one)
    return one
  }

  async function connect({ url }: { url: string }, protocols?: number[]): Promise<TestAgent> {
    const provider = localProvider(told) as Provider
    const agent = startAgent({ gateway: url, key, provider, ...(protocols && { protocols }) })
    open.unshift({ close: agent.stop })
    await expect.poll(() => agent.connections()).toBe(1)
    return agent
  }

  return {
    told,
    newGateway,
    connect,
    /** Two gateways, of which the second one has the host. */
    async newPair(options: GatewayOptions = {}) {
      const [here, there] = [await newGateway({ address: true, ...options }), await newGateway()]
      return { here, there, agent: await connect(there) }
    },
    async newBalancer(...gateways: AgentGateway[]) {
      const balancer = await startTcpBalancer()
      balancer.use(gateways.map(({ url }) => url))
      open.push(balancer)
      return balancer
    },
    async joinAgain({ operations, url }: AgentGateway): Promise<void> {
      key = await newHostKey(operations, url, 1)
    },
    /** Closes what a test has opened. */
    async closeAll(): Promise<void> {
      for (const one of open.splice(0)) await one.close()
    },
    drop: () => testDatabase.drop(),
  }
}
