// The contract with a real engine that only an agent reaches: joined and run by the host's own commands, in a network of its own.

import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { containerSpec, testProviderContract } from '../contract/provider.ts'
import { type AgentProcess, startAgentProcess } from '../support/crashes/agent-process.ts'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { createDriver, removeAll, removeContainers, runnableSpec, settle } from '../support/engine/driver.ts'
import { waitFor } from '../support/engine/processes.ts'
import { describeWithEngine, engine } from '../support/engine/suite.ts'
import { listMachines } from '../support/factories.ts'
import { type AgentGateway, openAgentGateway } from '../support/machines/agent-gateway.ts'
import { newHostKey, startAgent, type TestAgent } from '../support/machines/hosts.ts'
import { createNetworkNamespace, type NetworkNamespace } from '../support/processes/network-namespace.ts'
import { makeDataDir } from '../support/processes/programs.ts'

const small = { machine: { cpuCores: 1, cpuRamMb: 1_000 } }

describeWithEngine('with an engine that an agent reaches', () => {
  let databases: TestDatabase[]
  let gateway: AgentGateway
  let namespace: NetworkNamespace
  let agent: AgentProcess
  /** Another gateway, whose host has no engine. */
  let broken: AgentGateway
  let brokenAgent: TestAgent
  let folder: Awaited<ReturnType<typeof makeDataDir>>
  let mark: string

  beforeAll(async () => {
    databases = [await createDatabase(), await createDatabase()]
    const urls = databases.map(({ url }) => url) as [string, string]
    gateway = await openAgentGateway(urls[0], { readToolbox: () => readFile(engine.toolbox), host: '0.0.0.0' })
    broken = await openAgentGateway(urls[1])
    for (const { operations } of [gateway, broken]) await listMachines(operations, [small])
    folder = await makeDataDir()
    // Nothing leads to the ports of the namespace.
    const invitation = { gpuAccess: 'none' as const, validMs: 60_000, allowsUnreachablePorts: true }
    const { token } = await gateway.operations.machines.invite(1, invitation)
    namespace = createNetworkNamespace()
    agent = await startAgentProcess(folder.dataDir, { gateway: gateway.url, token, engine: engine.url }, namespace)
    mark = (await gateway.database.prisma.engine.findFirstOrThrow()).mark
    const provider = createDriver(engine, { url: 'unix:///nowhere/docker.sock' })
    const key = await newHostKey(broken.operations, broken.url, 1)
    brokenAgent = startAgent({ gateway: broken.url, key, provider })
    await waitFor(() => brokenAgent.connections() > 0, 10_000)
  })

  afterEach(() => removeContainers(engine, mark))

  afterAll(async () => {
    expect(await agent.stop()).toBe(0)
    namespace.remove()
    await removeAll(engine, mark)
    await brokenAgent.stop()
    for (const one of [gateway, broken]) await one.close()
    for (const database of databases) await database.drop()
    await folder.remove()
  })

  testProviderContract('agent', () => {
    const seen = new Set<bigint>()
    let isUnreachable = false
    return {
      createProvider: () => (isUnreachable ? broken.provider : gateway.provider),
      async finishPending() {
        for (const instanceId of seen) await settle(gateway.provider, { machineId: 1, instanceId, accountId: 1 })
      },
      setUnreachable: async unreachable => {
        isUnreachable = unreachable
      },
      adaptSpec: spec => {
        seen.add(spec.instanceId)
        const runnable = runnableSpec(engine, spec)
        return { ...runnable, launch: { ...runnable.launch, onStart: 'echo one\necho two' } }
      },
    }
  })

  it('keeps its containers while the agent is killed and runs again with the kept key', async () => {
    const { provider } = gateway
    const signal = () => AbortSignal.timeout(20_000)
    const spec = runnableSpec(engine, containerSpec(4_001n))
    const ref = { machineId: 1, instanceId: 4_001n, accountId: 1 }
    await provider.ensure(spec, signal())
    await settle(provider, ref)
    await provider.start(ref, signal())
    expect(await settle(provider, ref)).toMatchObject({ state: 'running' })
    await agent.kill()
    agent.start()
    await agent.untilConnected()
    expect(await settle(provider, ref)).toMatchObject({ state: 'running' })
    expect((await provider.exec(ref, 'echo still', signal())).output).toBe('still\n')
  })
})
