// `secret change` in processes: gateways before and after it, a command that is killed at each of its steps, and a gateway
// that nobody stopped.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sealedColumns } from '../../src/services/sealing/check.ts'
import { createSecrets } from '../../src/services/secrets.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { dumpDatabase } from '../support/database/dump.ts'
import { urlAs } from '../support/database/roles.ts'
import { openEverything, type SealedData, sealEverything } from '../support/database/sealed.ts'
import { waitForLockWaiters, withSession } from '../support/database/sessions.ts'
import { rentalsOf } from '../support/instances/rentals.ts'
import {
  type GatewayProcess,
  makeDataDir,
  type RunningProgram,
  runBerth,
  spawnProgram,
  startGateway,
  stopProgram,
} from '../support/processes/programs.ts'
import { createSeededRandom } from '../support/seeded-random.ts'

const secrets = ['a secret of tests', 'the second secret of tests', 'the third secret of tests'] as const
/** Gateways delete their rows after some minutes. */
const brief = ['results', 'agent_requests']
const tables = [...new Set(sealedColumns.map(([table]) => table)), 'secret_check'].filter(name => !brief.includes(name))
const changing = "datname = current_database() AND application_name = 'berth secret change'"
const programs: RunningProgram[] = []
const folders: Awaited<ReturnType<typeof makeDataDir>>[] = []

afterAll(async () => {
  // They have ended, unless a test has failed.
  for (const { child } of programs) child.kill('SIGKILL')
  for (const { remove } of folders) await remove()
})

async function newFolder(): Promise<string> {
  const folder = await makeDataDir()
  folders.push(folder)
  return folder.dataDir
}
async function start(env: Record<string, string>): Promise<GatewayProcess> {
  const gateway = await startGateway(env)
  programs.push(gateway)
  return gateway
}
function spawnChange(env: Record<string, string>): RunningProgram {
  const command = spawnProgram('src/cli.ts', ['secret', 'change'], env)
  programs.push(command)
  return command
}
const ask = async ({ url }: GatewayProcess, key: string, path: string) => {
  const response = await fetch(`${url}/api/v0${path}`, { headers: { authorization: `Bearer ${key}` } })
  return { status: response.status, body: await response.json() }
}

describe('on a database of its own', () => {
  let app: TestApp
  let data: SealedData
  let before: Record<string, string[]>
  let env: Record<string, string>

  beforeAll(async () => {
    app = await startApp({ now: undefined, simulatedDelay: 0 })
    data = await sealEverything(app, rentalsOf(app), createSecrets(secrets[0]), 'https://hooks.example.com/token')
    before = await openLasting(0)
    env = { BERTH_DATA_DIR: await newFolder(), DATABASE_URL: app.database.url, DEMO_MARKET: 'false' }
  })

  afterAll(() => app.close())

  const settings = (from: number, to: number) => ({
    ...env,
    BERTH_SECRET: secrets[from] as string,
    BERTH_NEW_SECRET: secrets[to] as string,
  })
  const openLasting = async (which: number) => {
    const opened = Object.entries(await openEverything(app, createSecrets(secrets[which] as string)))
    return Object.fromEntries(opened.filter(([name]) => !brief.includes(name.split('.')[0] as string)))
  }
  const count = async (where: string) => (await app.sql(`SELECT FROM pg_stat_activity WHERE ${where}`)).length

  const isLocked = async () => {
    const lock = "relation = 'secret_check'::regclass AND datname = current_database() AND mode = 'AccessExclusiveLock'"
    const query = `SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE ${lock} AND granted`
    return (await app.sql(query)).length > 0
  }

  it('is refused while gateways run', async () => {
    const gateways = [await start(settings(0, 1)), await start(settings(0, 1))]
    const command = await runBerth(settings(0, 1), 'secret', 'change')
    expect([command.code, command.errors]).toEqual([
      1,
      expect.stringMatching(/^2 gateways are connected to the database/),
    ])
    for (const gateway of gateways) await stopProgram(gateway)
    expect(await openLasting(0)).toEqual(before)
  })

  it.each(tables)('changes nothing if it is killed at the table %s', async table => {
    await app.sql(`
      CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$;
      CREATE TRIGGER wait_here BEFORE UPDATE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION wait_here()`)
    const sealed = await dumpDatabase(app.database.url)
    const command = await withSession(app.database.url, async session => {
      await session.query('SELECT pg_advisory_lock(42)')
      const command = spawnChange(settings(0, 1))
      await waitForLockWaiters(session, () => command.child.exitCode !== null)
      command.child.kill('SIGKILL')
      await command.exit
      return command
    })
    expect([command.child.exitCode, command.output()]).toEqual([null, ''])
    await expect.poll(() => count(changing), { timeout: 60_000 }).toBe(0)
    await app.sql(`DROP TRIGGER wait_here ON ${table}; DROP FUNCTION wait_here`)
    expect(await dumpDatabase(app.database.url)).toBe(sealed)
  })

  it('is refused if another program keeps a table', async () => {
    await withSession(app.database.url, async session => {
      await session.query('BEGIN; LOCK TABLE engines IN SHARE MODE')
      const { code, errors } = await runBerth(settings(0, 1), 'secret', 'change')
      expect([code, errors]).toEqual([
        1,
        'Another program uses the tables of the database. Nothing was changed. End it, and try again.\n',
      ])
    })
  })

  it('is refused to a role that does not own the tables', async () => {
    const url = urlAs('app', app.database.url)
    const roles = { DATABASE_URL: url, DATABASE_OWNER_URL: url }
    const { code, errors } = await runBerth({ ...settings(0, 1), ...roles }, 'secret', 'change')
    expect([code, errors]).toEqual([
      1,
      expect.stringContaining('Set DATABASE_OWNER_URL to the URL of the role that owns'),
    ])
  })

  it('is done once, and prints no secret', async () => {
    const results = []
    for (const _ of ['first', 'repeated']) {
      const command = spawnChange(settings(0, 1))
      expect([await command.exit, command.errors().split('\n').length]).toEqual([0, 2])
      results.push(JSON.parse(command.output()))
      const printed = command.output() + command.errors()
      for (const value of [...secrets, 'hush', 'pass', 'whsec_']) expect(printed).not.toContain(value)
    }
    expect(results).toEqual([
      { changed: true, resealed: expect.any(Number), unreadable: 0 },
      { changed: false, resealed: 0, unreadable: 0 },
    ])
    expect(await openLasting(1)).toEqual(before)
  })

  it('lets gateways start with the new secret, and with no other', async () => {
    const late = spawnProgram('src/main.ts', [], { ...settings(0, 1), PORT: '0' })
    programs.push(late)
    expect([await late.exit, late.errors()]).toEqual([1, expect.stringContaining('was encrypted with another secret')])
    const gateways = [await start(settings(1, 2)), await start(settings(1, 2))]
    for (const gateway of gateways) {
      expect((await ask(gateway, data.key, '/secrets/')).body.secrets).toHaveProperty('HF_TOKEN')
      // The key of an instance may not read the account, but it is known: an unknown one gets 401.
      expect((await ask(gateway, data.instanceKey, '/users/current/')).status).toBe(403)
      await stopProgram(gateway)
    }
  })

  it('ends all or nothing, whenever it is killed', async () => {
    const seed = Number(process.env['SECRET_SEED'] ?? Date.now() % 2 ** 31)
    process.stdout.write(`SECRET_SEED=${seed}\n`)
    const random = createSeededRandom(seed)
    let [from, to, changes] = [1, 2, 0]
    for (let round = 1; round <= 12; round += 1) {
      const command = spawnChange(settings(from, to))
      while (command.child.exitCode === null && !(await isLocked())) await sleep(1)
      // Every other one is killed between its commit and its end: this waits for its locks.
      if (round % 2 === 0) await app.sql('SELECT FROM secret_check')
      else await Promise.race([command.exit, sleep(random.between(0, 150))])
      command.child.kill('SIGKILL')
      await command.exit
      await expect.poll(() => count(changing), { timeout: 60_000 }).toBe(0)
      const { code, result } = await runBerth(settings(from, to), 'secret', 'change')
      expect(code).toBe(0)
      if (!result.changed) changes += 1
      expect(await openLasting(to)).toEqual(before)
      ;[from, to] = [to, from]
    }
    process.stdout.write(`${changes} of 12 killed commands had changed the secret.\n`)
    expect(changes).toBeGreaterThan(0)
    if (from === 2) await runBerth(settings(2, 1), 'secret', 'change')
  })

  it('stops a gateway that stood still meanwhile', async () => {
    const gateway = await start({ ...settings(1, 2), LOG_LEVEL: 'warn' })
    const inUse = "datname = current_database() AND application_name LIKE 'berth%' AND state <> 'idle'"
    // It must not stand still in a transaction, whose locks would keep the command from its work.
    await expect
      .poll(
        async () => {
          gateway.child.kill('SIGCONT')
          await sleep(50)
          gateway.child.kill('SIGSTOP')
          await sleep(50)
          return await count(inUse)
        },
        { timeout: 60_000 },
      )
      .toBe(0)
    await app.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'berth wake-ups'`,
    )
    await expect
      .poll(() => count("datname = current_database() AND application_name = 'berth wake-ups'"), { timeout: 30_000 })
      .toBe(0)
    expect(await runBerth(settings(1, 2), 'secret', 'change')).toMatchObject({ code: 0, result: { changed: true } })
    gateway.child.kill('SIGCONT')
    expect(await gateway.exit).toBe(1)
    expect(gateway.errors()).toContain('The secret of the database was changed, so this gateway stops.')
  })
})

it('replaces the secret of a data folder, whenever it is killed', async () => {
  const dataDir = await newFolder()
  const env = { BERTH_DATA_DIR: dataDir, SIMULATED_DELAY: '0' }
  const first = await start(env)
  const key = await readFile(join(dataDir, 'demo-key'), 'utf8')
  const url = `${first.url}/api/v0/secrets/`
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  await fetch(url, { method: 'POST', headers, body: JSON.stringify({ key: 'HF_TOKEN', value: 'hush' }) })
  const startedAt = performance.now()
  expect((await runBerth(env, 'secret', 'change')).errors).toMatch(/^A gateway is connected to the database/)
  const usualMs = Math.round(performance.now() - startedAt)
  await stopProgram(first)
  const random = createSeededRandom(Date.now() % 2 ** 31)
  const secretNow = () => readFile(join(dataDir, 'secret'), 'utf8')
  let secret = await secretNow()
  for (let round = 1; round <= 6; round += 1) {
    const command = spawnChange(env)
    await Promise.race([command.exit, sleep(random.between(usualMs / 2, usualMs * 2))])
    command.child.kill('SIGKILL')
    await command.exit
    const repeated = await runBerth(env, 'secret', 'change')
    expect([repeated.code, repeated.errors]).toEqual([0, ''])
    const changed = await secretNow()
    expect(changed).not.toBe(secret)
    secret = changed
  }
  expect((await readdir(dataDir)).filter(name => name.startsWith('secret'))).toEqual(['secret'])
  const last = await start(env)
  expect((await ask(last, key, '/secrets/')).body.secrets).toEqual({ HF_TOKEN: '********' })
  await stopProgram(last)
})
