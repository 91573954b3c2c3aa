import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newestMigration } from '../../src/database/history/versions.ts'
import { createDatabase } from '../support/database/database.ts'
import { type GatewayProcess, makeDataDir, startGateway, stopProgram } from '../support/processes/programs.ts'

let database: Awaited<ReturnType<typeof createDatabase>>
let dataDir: Awaited<ReturnType<typeof makeDataDir>>

beforeAll(async () => {
  database = await createDatabase()
  dataDir = await makeDataDir()
})

afterAll(async () => {
  await database.drop()
  await dataDir.remove()
})

const start = (env: Record<string, string> = {}) =>
  startGateway({
    BERTH_DATA_DIR: dataDir.dataDir,
    DATABASE_URL: database.url,
    BERTH_SECRET: 'a secret of these tests',
    LOG_LEVEL: 'debug',
    ...env,
  })

const ask = (gateway: GatewayProcess, id: string) =>
  fetch(`${gateway.url}/health`, { headers: { 'x-request-id': id } }).then(response => response.text())

const linesOf = (gateway: GatewayProcess): Record<string, unknown>[] =>
  gateway
    .errors()
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))

describe('the log of a gateway', () => {
  it('has every line of a burst that a stop follows at once, between those of its start and its end', async () => {
    const gateway = await start({ RATE_LIMIT_POINTS_PER_SECOND: '0', TRUSTED_PROXY: '10.0.0.1', DRAIN_SECONDS: '0.1' })
    const ids = Array.from({ length: 1_000 }, (_, index) => `burst-${index}`)
    await Promise.all(ids.map(id => ask(gateway, id)))
    expect(await stopProgram(gateway)).toBe(0)
    const lines = linesOf(gateway)
    expect(lines.map(({ requestId }) => requestId)).toEqual(expect.arrayContaining(ids))
    const { pid } = gateway.child
    expect(lines.filter(({ msg, level }) => msg !== 'request' && Number(level) > 20)).toEqual([
      {
        level: 40,
        time: expect.any(Number),
        msg: expect.stringMatching(/^Berth has no setting TRUSTED_PROXY\. Rename/),
      },
      {
        ...{ level: 30, time: expect.any(Number), msg: 'The gateway has started.' },
        ...{ version: expect.stringMatching(/^\d+\.\d+\.\d+$/), node: process.versions.node },
        ...{ migration: newestMigration, pid, port: Number(new URL(gateway.url).port) },
      },
      {
        ...{ level: 30, time: expect.any(Number), msg: 'The gateway was told to stop, and drains.' },
        ...{ signal: 'SIGTERM', drainSeconds: 0.1 },
      },
      { level: 30, time: expect.any(Number), msg: 'The gateway has stopped.' },
    ])
  })

  it('has the lines before an uncaught error', async () => {
    const thrower = 'process.once("SIGUSR2",()=>{throw(new(Error)("uncaught"))})'
    const gateway = await start({ NODE_OPTIONS: `--import=data:text/javascript,${thrower.replaceAll('"', "'")}` })
    await ask(gateway, 'the-last')
    gateway.child.kill('SIGUSR2')
    expect(await gateway.exit).toBe(1)
    expect(gateway.errors()).toContain('Error: uncaught')
    expect(gateway.errors()).toContain('"requestId":"the-last"')
  })

  it('may lose its reader: the gateway serves on and stops cleanly', async () => {
    const gateway = await start()
    gateway.child.stderr?.destroy()
    for (let index = 0; index < 5; index += 1) {
      expect(await ask(gateway, `unread-${index}`)).toContain('ok')
      await new Promise(resolve => setTimeout(resolve, 40))
    }
    expect(await stopProgram(gateway)).toBe(0)
  })

  it('may have a reader that does not read: the gateway serves on and stops in time', async () => {
    const gateway = await start()
    gateway.child.stderr?.pause()
    for (let round = 0; round < 10; round += 1)
      await Promise.all(Array.from({ length: 200 }, (_, index) => ask(gateway, `unread-${round}-${index}`)))
    const exited = new Promise(resolve => gateway.child.once('exit', resolve))
    gateway.child.kill('SIGTERM')
    expect(await exited).toBe(0)
    gateway.child.stderr?.destroy()
  })
})
