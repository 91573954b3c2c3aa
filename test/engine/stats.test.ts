import { afterEach, expect, it } from 'vitest'
import type { Provider } from '../../src/providers/provider.ts'
import { containerSpec } from '../contract/provider.ts'
import { createDriver, removeAll, runnableSpec, settle } from '../support/engine/driver.ts'
import { describeWithEngine, engine } from '../support/engine/suite.ts'

const ref = { machineId: 1, instanceId: 7_001n, accountId: 1 }
const signal = () => AbortSignal.timeout(30_000)

async function start(driver: Provider, onStart: string): Promise<void> {
  const spec = runnableSpec(engine, containerSpec(ref.instanceId))
  await driver.ensure({ ...spec, launch: { ...spec.launch, onStart } }, signal())
  await settle(driver, ref)
  await driver.start(ref, signal())
  expect(await settle(driver, ref)).toMatchObject({ state: 'running' })
}

describeWithEngine('what a container uses', () => {
  afterEach(() => removeAll(engine))

  it('is measured', async () => {
    const driver = createDriver(engine)
    await start(driver, 'head -c 5000000 /dev/zero > /root/file; while true; do :; done')
    const read = async () => (await driver.stats(1, signal()))[0]
    expect(await read()).toMatchObject({ instanceId: ref.instanceId, cpuCores: null, gpus: [] })
    await expect.poll(async () => (await read())?.cpuCores, { timeout: 20_000, interval: 2_000 }).toBeGreaterThan(0.02)
    const stats = await read()
    expect(stats?.memoryBytes).toBeGreaterThan(100_000)
    expect(stats?.memoryBytes).toBeLessThan(200_000_000)
    expect(stats?.receivedBytes).toBeGreaterThanOrEqual(0)
    expect(stats?.diskBytes).toBeGreaterThanOrEqual(5_000_000)
  })
})
