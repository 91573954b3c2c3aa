// A backup that is taken while renters rent, and restored elsewhere, while a machine remembers what came later.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runKilled, runMeasured, startCommand } from '../../support/backup/commands.ts'
import {
  addEvents,
  type BackupSite,
  envOf,
  openBackupSite,
  outsideMachine,
  simulatedMachines,
} from '../../support/backup/site.ts'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import { type GatewayFleet, startGatewayFleet } from '../../support/crashes/gateway-fleet.ts'
import { expectConsistentEvents, findUnsettledInstances } from '../../support/crashes/invariants.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { blocksOf, readPage } from '../../support/docs.ts'
import { startReader } from '../../support/events/readers.ts'
import { createClient, newestCursor } from '../../support/failover/client.ts'
import { expectConverged, expectInvariants } from '../../support/instances/rental-invariants.ts'
import { createRenters } from '../../support/instances/renters.ts'
import { runBerth } from '../../support/processes/programs.ts'
import { createSeededRandom } from '../../support/seeded-random.ts'

// BACKUP_EVENTS sets the size of the database.
const eventCount = Number(process.env['BACKUP_EVENTS'] ?? 300_000)
/** A gateway compares what a host has with the database each 30 s. */
const within = { timeout: 120_000, interval: 250 }
const seed = Date.now() % 2 ** 31

let site: BackupSite
let restored: TestDatabase
let fleet: GatewayFleet | undefined
let pool: pg.Pool
let folder: string
let file: string
let env: Record<string, string>

beforeAll(async () => {
  site = await openBackupSite()
  await addEvents(site.database, eventCount)
  restored = await createDatabase({ empty: true })
  pool = new pg.Pool({ connectionString: restored.url, max: 4, application_name: 'test' })
  folder = await mkdtemp(join(tmpdir(), 'berth-backup-'))
  file = join(folder, 'berth.backup')
  env = envOf(restored)
})

afterAll(async () => {
  await fleet?.killAll()
  await pool?.end()
  await site?.close()
  await restored?.drop()
  if (folder) await rm(folder, { recursive: true })
})

const sql = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows
const count = async (text: string) => Number((await sql(`SELECT count(*) FROM ${text}`))[0]?.['count'])

/** What the last renter has on the outside machine, and knows. */
let known: Awaited<ReturnType<typeof rentOutside>>

async function offerOutside(ask: BackupSite['sql']): Promise<number> {
  const [offer] = await ask(
    'SELECT id FROM offers WHERE rentable AND num_gpus = 1 AND machine_id = $1 ORDER BY id LIMIT 1',
    [outsideMachine],
  )
  return Number(offer?.['id'])
}

function clientOf(gateways: GatewayFleet, apiKey = site.renters[2]?.apiKey as string) {
  return createClient(gateways.urls()[0] as string, apiKey)
}

async function rentOutside() {
  const client = clientOf(site.fleet)
  const rent = async (mark: string) => await client.rent(await offerOutside(site.sql), mark)
  const revoked = await client.change('createApiKey', { name: 'revoked', fullAccess: true }, 'secret apiKey { id }')
  const [kept, stopped, destroyed] = [await rent('kept'), await rent('stopped'), await rent('destroyed')]
  await expect.poll(site.host.containers, within).toEqual({ [kept]: true, [stopped]: true, [destroyed]: true })
  // Not only started, but also observed.
  const running = `SELECT id FROM instances WHERE machine_id = ${outsideMachine} AND status = 'running'`
  await expect.poll(async () => (await site.sql(running)).length, within).toBe(3)
  return { rent, client, revoked, kept, stopped, destroyed, cursor: await newestCursor(client) }
}

/** What the backup does not know. */
let later: { id: string; cursor: string; key: string }

it(`takes a backup of ${eventCount} events while renters rent, and holds nobody up`, async () => {
  process.stdout.write(`seed ${seed}\n`)
  const random = createSeededRandom(seed)
  known = await rentOutside()
  // The outside machine is for the last renter.
  const sql: BackupSite['sql'] = (text, values) =>
    site.sql(text.replace('WHERE rentable', `WHERE machine_id <> ${outsideMachine} AND rentable`), values)
  const driver = createRenters({ renters: site.renters.slice(0, 2), pick: site.fleet.pickUrl, sql })
  let isOver = false
  const load = Promise.all(
    site.renters.slice(0, 2).flatMap(renter => [1, 2].map(() => driver.run(random.fork(), renter, () => isOver))),
  )
  const [renter] = site.renters
  const reader = await startReader({
    ...{ renter: renter as BackupSite['renters'][number], transport: 'sse', chance: random.fork() },
    pick: site.fleet.pickUrl,
  })
  await expect.poll(() => driver.counts.rentals, { timeout: 60_000 }).toBeGreaterThan(20)
  const before = { events: reader.ids.length, rentals: driver.counts.rentals }
  const { peakMb, seconds, result } = await runMeasured(envOf(site.database), 'backup', file)
  const during = { events: reader.ids.length - before.events, rentals: driver.counts.rentals - before.rentals }
  // The transaction of the backup holds no events back.
  expect(during.events).toBeGreaterThan(0)
  expect(result.rows).toBeGreaterThan(eventCount)
  expect(peakMb).toBeLessThan(350)
  const [{ size }] = (await site.sql('SELECT pg_database_size(current_database())::float8 AS size')) as [
    { size: number },
  ]
  const mb = (bytes: number) => Math.round(bytes / 1e5) / 10
  process.stdout.write(
    `${JSON.stringify({ backup: { seconds, peakMb, databaseMb: mb(size), fileMb: mb(result.bytes), rows: result.rows, during } })}\n`,
  )

  const id = await known.rent('later')
  await known.client.change('stopInstance', { id: known.stopped })
  await known.client.change('destroyInstance', { id: known.destroyed })
  const made = await known.client.change('createApiKey', { name: 'made', fullAccess: true }, 'secret')
  await known.client.change('deleteApiKey', { id: known.revoked.apiKey.id })
  await expect.poll(site.host.containers, within).toEqual({ [known.kept]: true, [known.stopped]: false, [id]: true })
  later = { id, cursor: await newestCursor(known.client), key: made.secret }
  isOver = true
  await load
  await reader.close()
  expect(await site.fleet.stop()).toEqual([0, 0])
})

it('restores it into another database, where all sums are right before any gateway starts', async () => {
  const { peakMb, seconds, result } = await runMeasured(env, 'restore', file)
  expect(peakMb).toBeLessThan(350)
  process.stdout.write(`${JSON.stringify({ restore: { seconds, peakMb, rows: result.rows } })}\n`)
  expect(await brokenLaws(sql)).toEqual([])
  await expectConsistentEvents(sql)
  for (const machineId of simulatedMachines) await expectInvariants({ sql }, machineId, new Date())
  expect(await count(`instances WHERE id = ${later.id}`)).toBe(0)
})

describe('gateways on the restored database', () => {
  beforeAll(async () => {
    fleet = await startGatewayFleet(env, 2)
    site.host.use(fleet.urls())
  })

  it('begin a new line of history, which the operator can list', async () => {
    const { result } = await runBerth(env, 'failover', 'list')
    expect(result).toMatchObject({ restored: true, witnessed: false })
    expect(await count('failovers')).toBe(1)
  })

  it('refuse cursors of both times', async () => {
    for (const { codeOf } of (fleet as GatewayFleet)
      .urls()
      .map(url => createClient(url, site.renters[2]?.apiKey as string)))
      for (const cursor of [known.cursor, later.cursor])
        expect(await codeOf(`{ events(first: 1, after: "${cursor}") { nodes { id } } }`)).toBe('CURSOR_EXPIRED')
  })

  it('know the API keys of the backup', async () => {
    const codeOf = (key: string) => clientOf(fleet as GatewayFleet, key).codeOf('{ viewer { account { id } } }')
    expect(await codeOf(later.key)).toBe('UNAUTHENTICATED')
    expect(await codeOf(known.revoked.secret)).toBe(undefined)
  })

  it('start again what was stopped later, and leave alone what they do not know', async () => {
    const expected = { [known.kept]: true, [known.stopped]: true, [later.id]: true }
    await expect.poll(site.host.containers, within).toEqual(expected)
    // Longer than from one comparison with the host to the next.
    await sleep(40_000)
    expect(await site.host.containers()).toEqual(expected)
  })

  it('cannot bring back what was destroyed later', async () => {
    const read = `SELECT status, reason_code FROM instances WHERE id = ${known.destroyed}`
    await expect.poll(() => sql(read), within).toEqual([{ status: 'unknown', reason_code: expect.any(String) }])
  })

  it('come to rest, with the right money and GPUs', async () => {
    await expect.poll(() => findUnsettledInstances(sql), within).toEqual([])
    expect(await brokenLaws(sql)).toEqual([])
    await expectConsistentEvents(sql)
    for (const machineId of simulatedMachines) {
      await expectInvariants({ sql }, machineId, new Date())
      await expectConverged({ sql }, machineId)
    }
    expect(fleet?.logLinesFrom(50)).toEqual([])
  })

  it('never give an id again', async () => {
    const client = clientOf(fleet as GatewayFleet)
    const [{ id: offer }] = (await sql(
      `SELECT id FROM offers WHERE rentable AND num_gpus = 1 AND machine_id = $1 ORDER BY id DESC LIMIT 1`,
      [outsideMachine],
    )) as [{ id: string }]
    const again = await client.rent(Number(offer), 'later')
    expect(BigInt(again)).toBeGreaterThan(BigInt(later.id) + 100_000n)
    await expect.poll(site.host.containers, within).toMatchObject({ [again]: true, [later.id]: true })
  })

  it('keep the operator from restoring over them', async () => {
    const { code, errors } = await runBerth(env, 'restore', file, '--replace')
    expect([code, errors]).toEqual([1, expect.stringContaining('Gateways or commands use the database')])
    expect(await fleet?.stop()).toEqual([0, 0])
  })
})

describe('commands that are killed,', () => {
  const state = async () =>
    await sql(`SELECT (SELECT epoch FROM outbox) AS epoch, (SELECT count(*)::int FROM events) AS events,
      (SELECT md5(string_agg(l::text, ',' ORDER BY id)) FROM ledger_entries l) AS ledger`)

  it('leave the database as it was, and can be repeated', async () => {
    const before = await state()
    let killed = 0
    for (const afterMs of [1_000, 2_000, 3_500, 5_000]) {
      if (!(await runKilled(afterMs, env, 'restore', file, '--replace'))) break
      killed += 1
      // The server ends the transaction a moment later.
      await expect.poll(state, { timeout: 60_000 }).toEqual(before)
    }
    expect(killed).toBeGreaterThan(1)
    const { result } = await runMeasured(env, 'restore', file, '--replace')
    expect((await state())[0]).toMatchObject({ epoch: result.epoch })
    expect(await brokenLaws(sql)).toEqual([])
  })

  it.each(['backup', 'restore --replace'])(
    'or lose their connection in the middle (%s) undo what they did',
    async words => {
      const before = await state()
      const { size } = await stat(file)
      const [name = '', ...options] = words.split(' ')
      const command = startCommand(env, name, file, ...options)
      const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'berth ${name}' AND datname = current_database() AND query LIKE 'COPY%events%'`
      await expect.poll(async () => (await sql(terminate)).length, { timeout: 60_000, interval: 5 }).toBe(1)
      expect(await command.exit).toBe(1)
      expect(command.errors()).toContain('The database did not answer in time. Try again in a moment.')
      expect([await state(), (await stat(file)).size]).toEqual([before, size])
      await expect(stat(`${file}.part`)).rejects.toThrow('ENOENT')
    },
  )

  it('leave the last backup as it was', async () => {
    const { size } = await stat(file)
    expect(await runKilled(1_500, env, 'backup', file)).toBe(true)
    expect((await stat(file)).size).toBe(size)
    await runMeasured(env, 'backup', file)
    await expect(stat(`${file}.part`)).rejects.toThrow('ENOENT')
  })
})

it('docs/operating.md shows how', async () => {
  const script = blocksOf(readPage('docs/operating.md'), 'sh backup').join('\n')
  const settings = { ...process.env, ...env }
  const { stdout } = await promisify(execFile)('bash', ['-euc', script.replaceAll('/var/backups', folder)], {
    env: settings,
  })
  const [written, restored] = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(restored).toMatchObject({ takenAt: written.takenAt, rows: written.rows })
})
