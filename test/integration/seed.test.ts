import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureDemo, seedMarket } from '../../prisma/seed.ts'
import { openDatabase } from '../../src/database/client.ts'
import { apiKeyServices } from '../../src/services/api-keys.ts'
import { startApp, type TestApp } from '../support/app.ts'

let app: TestApp

beforeAll(async () => {
  app = await startApp()
})

afterAll(() => app.close())

describe('a market that is generated', () => {
  const figures = 'count(*)::int AS machines, count(DISTINCT (host_id, public_ip))::int AS distinct'

  it('goes on where the same seed ended', async () => {
    for (const machines of [40, 1, 25]) await seedMarket(app.operations, { machines, seed: 3 })
    expect(await app.sql(`SELECT ${figures} FROM machines`)).toEqual([{ machines: 66, distinct: 66 }])
  })

  it('is the same as if it was generated at once', async () => {
    const other = await startApp()
    await seedMarket(other.operations, { machines: 66, seed: 3 })
    const facts = `SELECT email, public_ip, cpu_name, gpu_nanos::text
      FROM machines JOIN accounts ON accounts.id = host_id ORDER BY machines.id`
    expect(await other.sql(facts)).toEqual(await app.sql(facts))
    await other.close()
  })

  it('has other hosts with another seed', async () => {
    await seedMarket(app.operations, { machines: 10, seed: 33 })
    expect(await app.sql(`SELECT ${figures} FROM machines`)).toEqual([{ machines: 76, distinct: 76 }])
  })
})

it('keeps the demo key where only its owner reads it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-seed-'))
  const file = join(folder, 'data', 'demo-key')
  const database = openDatabase({ url: app.database.url, poolSize: 2, onIdleError: () => {} })
  await ensureDemo({ apiKeys: apiKeyServices({ database, now: app.clock.now }) }, app.operations, file)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  await database.close()
  await rm(folder, { recursive: true })
})
