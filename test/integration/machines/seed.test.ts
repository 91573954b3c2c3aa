import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureDemo, seedMarket } from '../../../prisma/seed.ts'
import { type Database, openDatabase } from '../../../src/database/client.ts'
import { identityServices } from '../../../src/services/accounts/api-keys/identity.ts'
import { createRememberedKeys } from '../../../src/services/accounts/api-keys/remembered-keys.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { urlAs } from '../../support/database/roles.ts'

let app: TestApp

beforeAll(async () => {
  app = await startApp()
})

afterAll(() => app.close())

describe('a generated market', () => {
  const figures = 'count(*)::int AS machines, count(DISTINCT (host_id, public_ip))::int AS distinct'

  it('continues after the last machine of the same seed', async () => {
    const totals = []
    for (const machines of [40, 1, 25]) totals.push(await seedMarket(app.operations, { machines, seed: 3 }))
    expect(totals).toEqual([40, 41, 66])
    expect(await app.sql(`SELECT ${figures} FROM machines`)).toEqual([{ machines: 66, distinct: 66 }])
  })

  it('is the same whether it is generated at once or in parts', async () => {
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

describe('the demo key', () => {
  let folder: string
  let database: Database
  let services: { apiKeys: ReturnType<typeof identityServices> }
  const keyIn = (file: string) => ensureDemo(services, app.operations, join(folder, file))
  const works = async (key: string) => (await services.apiKeys.identify(key, { fresh: true })) !== undefined

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-seed-'))
    database = openDatabase({
      url: urlAs('app', app.database.url),
      poolSize: 2,
      onIdleError: () => {},
      now: app.clock.now,
    })
    services = {
      apiKeys: identityServices({
        database,
        secrets: createSecrets('a secret of tests'),
        rememberedKeys: createRememberedKeys(),
        log: pino({ enabled: false }),
      }),
    }
  })

  afterAll(async () => {
    await database.close()
    await rm(folder, { recursive: true })
  })

  it('is in a file that only its owner can read', async () => {
    await keyIn('data/demo-key')
    expect((await stat(join(folder, 'data/demo-key'))).mode & 0o777).toBe(0o600)
  })

  it('stays valid while its file exists, and is revoked when a new key replaces it', async () => {
    const first = await keyIn('own')
    expect(await keyIn('own')).toBe(first)
    for (let time = 0; time < 2; time += 1) {
      const apiKey = await keyIn('own')
      await rm(join(folder, 'own'))
      const next = await keyIn('own')
      expect([next === apiKey, await works(next), await works(apiKey)]).toEqual([false, true, false])
    }
  })

  it('stays the same while an operator has disabled the demo account', async () => {
    const apiKey = await keyIn('disabled')
    const { accounts } = app.operations
    await accounts.disable('demo@example.com', { reason: 'Maintenance.', keepInstances: true })
    expect(await keyIn('disabled')).toBe(apiKey)
    await accounts.enable('demo@example.com')
    expect(await works(apiKey)).toBe(true)
  })

  it('does not revoke keys of other files or other keys of the account', async () => {
    const elsewhere = await keyIn('elsewhere')
    const { apiKey } = await app.operations.accounts.createApiKey('demo@example.com', { permissions: null })
    await keyIn('lost')
    await rm(join(folder, 'lost'))
    await keyIn('lost')
    expect([await works(elsewhere), await works(apiKey)]).toEqual([true, true])
  })
})
