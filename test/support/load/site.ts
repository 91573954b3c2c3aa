import pg from 'pg'
import { seedMarket } from '../../../prisma/seed.ts'
import { openDatabase } from '../../../src/database/client.ts'
import { createOperations } from '../../../src/services/operations.ts'
import { createDatabase } from '../database/database.ts'
import { makeDataDir, startGateway, stopProgram } from '../processes/programs.ts'

const creditNanos = 10_000_000_000_000n

/** A gateway in a process of its own, with a market and accounts. */
export async function startLoadSite({ machines = 400, accounts = 20, env = {} } = {}) {
  const database = await createDatabase()
  const { dataDir, remove } = await makeDataDir()
  const keys = await fillMarket(database.url, machines, accounts)
  const pool = new pg.Pool({ connectionString: database.url, max: 2, application_name: 'test' })
  const gateway = await startGateway({
    BERTH_DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    BERTH_SECRET: 'a secret of these tests',
    SIMULATED_DELAY: '0',
    LOG_LEVEL: 'warn',
    ...env,
  })
  return {
    gateway,
    url: gateway.url,
    keys,
    sql: async (text: string) => (await pool.query(text)).rows,
    async stop() {
      await stopProgram(gateway)
      await pool.end()
      await database.drop()
      await remove()
    },
  }
}

async function fillMarket(url: string, machines: number, accounts: number): Promise<string[]> {
  const database = openDatabase({ url, poolSize: 2, onIdleError: () => {} })
  const operations = createOperations({ database })
  await seedMarket(operations, { machines })
  const keys: string[] = []
  for (let n = 1; n <= accounts; n += 1)
    keys.push((await operations.accounts.create({ email: `renter-${n}@example.com`, creditNanos })).apiKey)
  await database.pool.query('VACUUM ANALYZE')
  await database.close()
  return keys
}
