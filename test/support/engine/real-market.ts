import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type AgentProcess, startAgentProcess } from '../crashes/agent-process.ts'
import type { NetworkNamespace } from '../processes/network-namespace.ts'
import { type GatewayProcess, makeDataDir, runBerth, startGateway, stopProgram } from '../processes/programs.ts'
import type { TestEngine } from './engine.ts'
import { freePort } from './registry.ts'

export type Answer = {
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the test's query
  data: any
  errors?: { message: string }[]
}

export type RealMarket = Awaited<ReturnType<typeof startRealMarket>>

export type RealMarketOptions = {
  /** Whether only an agent reaches the engine: a process of its own, and here in a network of its own. */
  agent?: boolean | NetworkNamespace
  /** Facts of the machine. */
  facts?: Partial<typeof machine> & { datacenter?: boolean }
  env?: Record<string, string>
}

/** A gateway in a process of its own, whose only machine is connected with an engine. */
export async function startRealMarket(
  { url, toolbox }: Pick<TestEngine, 'url' | 'toolbox'>,
  { agent: hasAgent = false, facts, env: more }: RealMarketOptions = {},
) {
  const { dataDir, remove } = await makeDataDir()
  // An agent finds the gateway again at its port.
  const env: Record<string, string> = {
    BERTH_DATA_DIR: dataDir,
    DEMO_MARKET: 'false',
    // The socket of the test's engine is for root alone.
    RUN_AS: 'root',
    PORT: String(await freePort()),
    ...more,
  }
  await copyFile(toolbox, join(dataDir, 'toolbox.tar'))
  const file = join(dataDir, 'machine.json')
  await writeFile(file, JSON.stringify([{ ...machine, ...facts }]))
  let gateway: GatewayProcess = await startGateway(env)
  const operate = async (...args: string[]) => {
    const { code, result, errors } = await runBerth(env, ...args)
    if (code !== 0) throw new Error(`berth ${args.join(' ')}: ${errors}`)
    return result
  }
  const newKey = async (email: string): Promise<string> =>
    (await operate('account', 'create', '--email', email, '--credit', '100')).apiKey
  await newKey('host@example.com')
  await operate('machine', 'import', '--file', file, '--host', 'host@example.com')
  let agent: AgentProcess | undefined
  if (hasAgent) {
    const namespace = hasAgent === true ? undefined : hasAgent
    // Nothing leads to the ports of a namespace.
    const allowed = namespace ? ['--allow-unreachable-ports'] : []
    const { token } = await operate('machine', 'invite', '--id', '1', '--gpu-access', 'none', ...allowed)
    agent = await startAgentProcess(join(dataDir, 'host'), { gateway: gateway.url, token, engine: url }, namespace)
  } else {
    await operate('machine', 'connect', '--id', '1', '--engine', url, '--gpu-access', 'none')
  }
  return {
    env,
    agent,
    newKey,
    operate,
    gateway: () => gateway,
    async restartGateway(signal: NodeJS.Signals): Promise<void> {
      gateway.child.kill(signal)
      await gateway.exit
      gateway = await startGateway(env)
    },
    async ask(key: string, query: string, variables: Record<string, unknown> = {}): Promise<Answer['data']> {
      const response = await fetch(`${gateway.url}/graphql`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      })
      const { data, errors } = (await response.json()) as Answer
      if (errors) throw new Error(errors.map(({ message }) => message).join('\n'))
      return data
    },
    async stop(): Promise<void> {
      await agent?.stop()
      await stopProgram(gateway)
      await remove()
    },
  }
}

/** Facts of a machine that every computer keeps. */
export const machine = {
  ...{ gpuModel: 'RTX 4090', numGpus: 4, driverVersion: '570.172.08', cudaVersion: '12.8', country: 'SE' },
  ...{ pricePerGpuHour: '0.10', storagePricePerGbMonth: '0.10', listedUntil: '2030-12-31', publicIp: '127.0.0.1' },
  ...{ firstPort: 20_000, lastPort: 20_099, cpuName: 'CPU', cpuCores: 1, cpuRamGb: 1, diskGb: 200 },
  ...{ downloadMbps: 100, uploadMbps: 50 },
}
