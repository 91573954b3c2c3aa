import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { locks, withLock } from '../../../src/database/locks.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { withSession } from '../../support/database/sessions.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { someCredit } from '../../support/instances/rentals.ts'
import { anImport, newModelColumns } from '../../support/machines/import-files.ts'

let app: TestApp
let other: Gateway
let key: string
const hostEmail = 'host@example.com'

beforeAll(async () => {
  app = await startApp()
  other = openGateway({ url: app.database.url, now: app.clock.now })
  key = await app.newKey(null, someCredit)
  await app.operations.accounts.create({ email: hostEmail })
  // An earlier machine, so that its GPU model is known.
  await importFrom(app, { ...newModelColumns, gpuModel: 'RTX 4090', publicIp: '198.51.100.1' })
})

afterAll(async () => {
  await other.close()
  await app.close()
})

const importFrom = ({ operations }: Pick<TestApp, 'operations'>, ...lines: Record<string, unknown>[]) =>
  operations.machines.import({ host: hostEmail, rows: anImport(...lines) })
const countAll = async () => {
  const tables = ['machines', 'gpus', 'offers', 'gpu_models']
  const [row] = await app.sql(
    `SELECT ${tables.map(name => `(SELECT count(*)::int FROM ${name}) AS ${name}`).join(', ')}`,
  )
  return row as Record<string, number>
}

describe('an import', () => {
  it('lists machines while a gateway runs', async () => {
    const before = await countAll()
    const lines = [
      newModelColumns,
      { gpuModel: 'RTX 9090', publicIp: '203.0.113.8', numGpus: '4', pricePerGpuHour: '0.8' },
    ]
    expect(await importFrom(app, ...lines)).toEqual({ host: hostEmail, machines: 2, newGpuModels: ['RTX 9090'] })
    expect(await countAll()).toEqual({
      machines: (before['machines'] as number) + 2,
      gpus: (before['gpus'] as number) + 6,
      offers: (before['offers'] as number) + 3 + 7,
      gpu_models: (before['gpu_models'] as number) + 1,
    })
    const { body } = await app.rest(key, 'POST', '/bundles/', {
      gpu_name: 'RTX 9090',
      num_gpus: { gte: 4 },
      verified: false,
    })
    expect(body.offers).toMatchObject([
      {
        gpu_ram: 65_536,
        dph_base: 3.2,
        storage_cost: 0.2,
        min_bid: 1.6,
        inet_up: 800.5,
        disk_space: 1_800,
        driver_version: '570.172.08',
        public_ipaddr: '203.0.113.8',
      },
    ])
    expect(await app.rest(key, 'PUT', `/asks/${body.offers[0].id}/`, { image: 'ubuntu' })).toMatchObject({
      status: 200,
    })
  })

  it('refuses a whole file if one of its machines is already on the market', async () => {
    const before = await countAll()
    const lines = [
      { publicIp: '198.51.100.20', numGpus: 'x' },
      { publicIp: '198.51.100.1', firstPort: '20099', lastPort: '20100' },
    ]
    const taken =
      'line 2: publicIp: ports 20099 to 20100 of 198.51.100.1 overlap with those of machine 1, which is on the market.'
    await expect(importFrom(app, ...lines)).rejects.toThrow(
      `line 1: numGpus: must be a whole number from 1 to 16, not "x". ${taken}`,
    )
    await expect(importFrom(app, {}, lines[1] as Record<string, unknown>)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
    expect(await countAll()).toEqual(before)
  })

  it('lists a file once when two gateways import it at once', async () => {
    const before = await countAll()
    const lines = Array.from({ length: 30 }, (_, index) => ({ publicIp: `192.0.2.${index}` }))
    const importing = await withSession(app.database.url, async session => {
      const waiting = async () => {
        const waiters = "datname = current_database() AND wait_event_type = 'Lock'"
        return (await session.query(`SELECT FROM pg_stat_activity WHERE ${waiters}`)).rows.length
      }
      await session.query('SELECT pg_advisory_lock($1)', [locks.market])
      const imports = Promise.allSettled([app, other].map(gateway => importFrom(gateway, ...lines)))
      await expect.poll(waiting).toBe(2)
      await session.query('SELECT pg_advisory_unlock($1)', [locks.market])
      return { imports }
    })
    const results = await importing.imports
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason.details.issues).toHaveLength(30)
    }
    expect((await countAll())['machines']).toBe((before['machines'] as number) + 30)
  })

  it('fails if another command adds machines for too long', async () => {
    const importing = () => importFrom(app, { publicIp: '198.51.100.30' })
    await withLock(app.database.url, locks.market, async () => {
      await expect(importing()).rejects.toThrow('Another command is adding machines to the market.')
    })
    expect(await importing()).toMatchObject({ machines: 1 })
  })

  it('may reuse the address of an unlisted machine', async () => {
    const line = { publicIp: '198.51.100.40' }
    await importFrom(app, line)
    const [row] = await app.sql("SELECT id FROM machines WHERE public_ip = '198.51.100.40'")
    await app.operations.machines.unlist((row as { id: number }).id)
    expect(await importFrom(app, line)).toMatchObject({ machines: 1 })
  })

  it('reports the same issues in a dry run, and changes nothing', async () => {
    const before = await countAll()
    const attempt = (line: object) =>
      app.operations.machines.import({ host: hostEmail, rows: anImport({ ...newModelColumns, ...line }), dryRun: true })
    const line = { gpuModel: 'RTX 9999', publicIp: '198.51.100.50' }
    expect(await attempt(line)).toEqual({ host: hostEmail, machines: 1, newGpuModels: ['RTX 9999'] })
    await expect(attempt({ ...line, publicIp: '198.51.100.1' })).rejects.toThrow('which is on the market')
    expect(await countAll()).toEqual(before)
  })

  it('needs a host that exists', async () => {
    const rows = anImport({ publicIp: '198.51.100.60' })
    await expect(app.operations.machines.import({ host: 'nobody@example.com', rows })).rejects.toThrow(
      'There is no account with the email address nobody@example.com.',
    )
  })

  it('lists all machines of a large file or none', async () => {
    const lines = Array.from({ length: 1_100 }, (_, index) => ({ publicIp: `10.9.${index >> 8}.${index & 255}` }))
    const before = await countAll()
    await expect(importFrom(app, ...lines, { publicIp: '10.9.0.0' })).rejects.toThrow('overlap with those of line 1.')
    expect(await countAll()).toEqual(before)
    expect(await importFrom(app, ...lines)).toMatchObject({ machines: 1_100 })
    expect((await countAll())['machines']).toBe((before['machines'] as number) + 1_100)
  })
})
