import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase } from '../support/database/database.ts'
import { startFaultyProxy } from '../support/database/faulty-proxy.ts'
import { makeDataDir, spawnProgram, startGateway, stopProgram } from '../support/processes/programs.ts'

// Gateways that share an external database need a common secret.
const BERTH_SECRET = 'a secret of these tests'
let dataDir: string
let remove: () => Promise<void>
let env: Record<string, string>

beforeAll(async () => {
  const made = await makeDataDir()
  dataDir = made.dataDir
  remove = made.remove
  env = { BERTH_DATA_DIR: dataDir }
})

afterAll(() => remove())

describe('an interrupted gateway', () => {
  it('finishes creating its database before it stops', async () => {
    const gateway = spawnProgram('src/main.ts', [], { ...env, PORT: '0' }, { ownGroup: true })
    // PostgreSQL creates this folder last. An earlier interruption leaves more work than the time to stop on a busy machine.
    const isCreatingDatabase = () =>
      readdirSync(dataDir).some(
        name => name.startsWith('postgres.unfinished-') && existsSync(join(dataDir, name, 'base', '5')),
      )
    await expect.poll(isCreatingDatabase, { interval: 5, timeout: 30_000 }).toBe(true)
    // Ctrl-C at a terminal signals the whole process group.
    process.kill(-(gateway.child.pid as number), 'SIGINT')
    expect([await gateway.exit, gateway.errors(), gateway.output()]).toEqual([0, '', ''])
    expect(existsSync(join(dataDir, 'postgres', 'PG_VERSION'))).toBe(true)
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false)
  })

  it('reports a failure to stop its database', async () => {
    const gateway = await startGateway(env)
    const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
    const database = Number(readFileSync(pidFile, 'utf8').split('\n')[0])
    rmSync(pidFile)
    gateway.child.kill('SIGTERM')
    expect(await gateway.exit).toBe(1)
    expect(gateway.errors()).toContain('Stopping failed.')
    expect(gateway.errors()).not.toContain('cannot start')
    process.kill(database, 'SIGINT')
    await expect.poll(() => existsSync(`/proc/${database}`), { timeout: 5_000 }).toBe(false)
  })
})

describe('a gateway whose database does not answer', () => {
  it('still stops in time, during a request and during its start', async () => {
    const database = await createDatabase()
    const [proxy, frozenProxy] = await Promise.all([startFaultyProxy(database.url), startFaultyProxy(database.url)])
    const running = await startGateway({ ...env, BERTH_SECRET, DATABASE_URL: proxy.url })
    expect((await fetch(`${running.url}/ready`)).status).toBe(200)
    frozenProxy.freeze()
    const starting = spawnProgram('src/main.ts', [], { ...env, PORT: '0', BERTH_SECRET, DATABASE_URL: frozenProxy.url })
    await expect.poll(frozenProxy.countSockets, { timeout: 30_000 }).toBeGreaterThan(0)
    // Only now: a request that waits for long is answered that the database is unavailable.
    proxy.freeze()
    const key = `berth_${'a'.repeat(12)}_${'b'.repeat(40)}`
    const unanswered = fetch(`${running.url}/api/v0/users/current/?api_key=${key}`)
    await sleep(200)
    const outcomes = await Promise.all([stopProgram(running), stopProgram(starting), unanswered.catch(() => 'cut off')])
    expect(outcomes).toEqual([0, 0, 'cut off'])
    proxy.close()
    frozenProxy.close()
    await database.drop()
  })
})

it('leaves no database running if its secret is unusable', async () => {
  const made = await makeDataDir()
  writeFileSync(join(made.dataDir, 'secret'), '')
  const gateway = spawnProgram('src/main.ts', [], { BERTH_DATA_DIR: made.dataDir, PORT: '0' })
  expect(await gateway.exit).toBe(1)
  expect(gateway.errors()).toContain('secret is empty')
  expect(existsSync(join(made.dataDir, 'postgres', 'postmaster.pid'))).toBe(false)
  await made.remove()
})
