import { afterAll, afterEach } from 'vitest'
import type { Provider } from '../../src/providers/provider.ts'
import { testProviderContract } from '../contract/provider.ts'
import { createDriver, removeAll, removeContainers, runnableSpec, settle } from '../support/engine/driver.ts'
import { describeWithEngine, engine } from '../support/engine/suite.ts'

describeWithEngine('with an engine', () => {
  afterEach(() => removeContainers(engine))
  afterAll(() => removeAll(engine))

  testProviderContract('Docker', () => {
    const seen = new Set<bigint>()
    let isUnreachable = false
    let gateway: Provider | undefined
    return {
      // A gateway knows what it prepares, and others see it when it is done. So the next one starts then.
      createProvider: () => {
        if (isUnreachable) return createDriver(engine, { url: 'unix:///nowhere/docker.sock' })
        gateway ??= createDriver(engine)
        return gateway
      },
      async finishPending() {
        const provider = gateway ?? createDriver(engine)
        for (const instanceId of seen) await settle(provider, { machineId: 1, instanceId, accountId: 1 })
        gateway = undefined
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
})
