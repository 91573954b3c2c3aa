// How second connections of hosts end, and hosts that do not open them.

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { MachineElsewhere } from '../../../../src/providers/agent/provider.ts'
import { MachineUnreachable } from '../../../../src/providers/provider.ts'
import {
  countLines,
  holdOf,
  messages,
  type OneHost,
  openOneHost,
  run,
  start,
} from '../../../support/machines/one-host.ts'

let host: OneHost

beforeAll(async () => {
  host = await openOneHost()
})

afterEach(() => host.closeAll())

afterAll(() => host.drop())

/** Of something that accepts connections, and answers nothing. */
async function silentAddress(): Promise<string> {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => void silent.close())
  return `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
}

describe('the second connection', () => {
  it('stays while it is used, and ends some time later', async () => {
    const { here } = await host.newPair({ timing: { keptMs: 500, renewMs: 100 } })
    const { stdin, stdout, exitCode } = await start(here, 'cat')
    await new Promise(resolve => setTimeout(resolve, 1_500))
    stdin.end('still there')
    expect([(await buffer(stdout)).toString(), await exitCode]).toEqual(['still there', 0])
    await expect.poll(() => countLines(here, 'closed')).toBe(1)
    expect(await run(here, 'echo again')).toEqual(['again\n', 0])
    expect(countLines(here, 'opened')).toBe(2)
  })

  it('ends with the first one, when its gateway stops', async () => {
    const { here, there, agent } = await host.newPair()
    const { exitCode } = await start(here, 'cat')
    await there.close()
    await expect(exitCode).rejects.toThrow(MachineUnreachable)
    expect(countLines(here, 'closed')).toBe(1)
    await expect(run(here, 'true')).rejects.toThrow('is not connected')
    await agent.stop()
  })

  it('ends when its own gateway stops, and leaves the first one alone', async () => {
    const { here, there, agent } = await host.newPair()
    const { exitCode } = await start(here, 'cat')
    const hungUp = host.told.hungUp
    await here.close()
    await expect(exitCode).rejects.toThrow(MachineUnreachable)
    await expect.poll(() => host.told.hungUp).toBeGreaterThan(hungUp)
    expect(await run(there, 'echo hello')).toEqual(['hello\n', 0])
    expect(agent.connections()).toBe(1)
  })

  it('is not used once the first one is here', async () => {
    const [here, there] = [await host.newGateway({ address: true }), await host.newGateway()]
    const balancer = await host.newBalancer(there)
    const agent = await host.connect(balancer)
    await run(here, 'true')
    balancer.use([here.url])
    await there.close()
    await expect.poll(() => agent.connections(), { timeout: 15_000 }).toBe(2)
    expect(await run(here, 'echo hello')).toEqual(['hello\n', 0])
    expect([countLines(here, 'opened'), countLines(here, 'closed')]).toEqual([1, 1])
    expect((await holdOf(here)).gatewayId).toBe(here.gatewayId)
  })

  it('serves whoever waits for it when the first one comes instead', async () => {
    const timing = { openMs: 30_000, lossMs: 30_000 }
    const [here, there] = [await host.newGateway({ address: await silentAddress(), timing }), await host.newGateway()]
    const balancer = await host.newBalancer(there)
    await host.connect(balancer)
    const answer = run(here, 'echo hello')
    await expect.poll(() => here.database.prisma.agentRequest.count()).toBe(1)
    balancer.use([here.url])
    await there.close()
    expect(await answer).toEqual(['hello\n', 0])
  })

  it('ends within seconds when the key of the host is revoked', async () => {
    const { here } = await host.newPair()
    const { exitCode } = await start(here, 'cat')
    await here.operations.machines.invite(1, { gpuAccess: 'none', validMs: 60_000 })
    await expect(exitCode).rejects.toThrow(MachineUnreachable)
    await expect(run(here, 'true')).rejects.toThrow('is not connected')
    await host.joinAgain(here)
  })
})

describe('a host that does not open a second connection', () => {
  const elsewhere = 'is connected to another gateway. Try again there.'

  it('is asked once for all, and again after some time', async () => {
    const { here } = await host.newPair({ address: 'http://127.0.0.1:9', timing: { failedMs: 1_500 } })
    const attempts = await Promise.allSettled(Array.from({ length: 4 }, () => run(here, 'true')))
    for (const attempt of attempts)
      expect(attempt).toMatchObject({ status: 'rejected', reason: expect.any(MachineElsewhere) })
    await expect(run(here, 'true')).rejects.toThrow(elsewhere)
    expect(countLines(here, 'refused')).toBe(1)
    await expect
      .poll(async () => [await run(here, 'true').catch(() => 'refused'), countLines(here, 'refused')], {
        timeout: 15_000,
      })
      .toEqual(['refused', 2])
  })

  it('is waited for only so long', async () => {
    const { here, there } = await host.newPair({ address: await silentAddress(), timing: { openMs: 700 } })
    const startedMs = performance.now()
    await expect(run(here, 'true')).rejects.toThrow(elsewhere)
    expect(performance.now() - startedMs).toBeGreaterThan(650)
    const againMs = performance.now()
    await expect(run(here, 'true')).rejects.toThrow(elsewhere)
    expect(performance.now() - againMs).toBeLessThan(650)
    expect(await run(there, 'echo hello')).toEqual(['hello\n', 0])
  })

  it('may speak the protocol before, and keeps what that has', async () => {
    const [here, there] = [await host.newGateway({ address: true }), await host.newGateway()]
    await host.connect(there, [1])
    await expect(run(here, 'true')).rejects.toThrow(MachineElsewhere)
    expect(JSON.stringify(here.lines.find(({ msg }) => msg === messages.refused))).toContain(
      'Upgrade Berth on the host.',
    )
    expect(await run(there, 'echo hello')).toEqual(['hello\n', 0])
  })
})
