import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeDataDir, startGateway } from '../support/processes/programs.ts'
import { runRollingRestarts } from '../support/processes/rolling-restart.ts'

it('loses no request behind a balancer over two rolling restarts', { timeout: 60_000 }, async () => {
  const { answered, failed } = await runRollingRestarts(2)
  expect(failed).toEqual([])
  expect(answered).toBeGreaterThan(100)
})

describe('a gateway with a long drain time', () => {
  let dataDir: string
  let remove: () => Promise<void>

  beforeAll(async () => {
    const made = await makeDataDir()
    dataDir = made.dataDir
    remove = made.remove
  })

  afterAll(() => remove())

  it('answers with Connection: close after SIGTERM, and stops at once after a second SIGTERM', async () => {
    const gateway = await startGateway({ BERTH_DATA_DIR: dataDir, DRAIN_SECONDS: '60' })
    const ask = async (path: string) => {
      const { status, headers } = await fetch(`${gateway.url}${path}`)
      return [status, headers.get('connection')]
    }
    expect(await ask('/ready')).toEqual([200, 'keep-alive'])
    gateway.child.kill('SIGTERM')
    // npm forwards a signal that the process also receives itself.
    gateway.child.kill('SIGTERM')
    await expect.poll(() => ask('/ready')).toEqual([503, 'close'])
    const query = encodeURIComponent('subscription { events { cursor } }')
    const apiKey = readFileSync(join(dataDir, 'demo-key'), 'utf8').trim()
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${apiKey}` }
    const stream = await fetch(`${gateway.url}/graphql?query=${query}`, { headers })
    expect([stream.status, stream.headers.get('connection')]).toEqual([200, 'close'])
    await sleep(600)
    expect(await ask('/health')).toEqual([200, 'close'])
    gateway.child.kill('SIGTERM')
    const start = performance.now()
    expect(await gateway.exit).toBe(0)
    expect(performance.now() - start).toBeLessThan(5_000)
    expect(await stream.text()).toContain('STREAM_ENDED')
  })

  it('does not wait after SIGINT from a terminal', async () => {
    const gateway = await startGateway({ BERTH_DATA_DIR: dataDir, DRAIN_SECONDS: '60' })
    gateway.child.kill('SIGINT')
    const start = performance.now()
    expect(await gateway.exit).toBe(0)
    expect(performance.now() - start).toBeLessThan(5_000)
  })
})
