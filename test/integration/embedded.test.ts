import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Embedded, openEmbedded } from '../../src/database/embedded.ts'
import { locks } from '../../src/database/locks.ts'
import { makeDataDir } from '../support/process.ts'

let dataDir: string
let remove: () => Promise<void>
let gateway: Embedded
let admin: pg.Client
const onLost = (error: Error) => {
  throw error
}

beforeAll(async () => {
  const made = await makeDataDir()
  dataDir = made.dataDir
  remove = made.remove
  gateway = await openEmbedded({ dataDir, role: 'gateway', onLost })
  admin = new pg.Client({ connectionString: gateway.url })
  await admin.connect()
})

afterAll(async () => {
  await admin.end()
  await gateway.release()
  await remove()
})

describe('a gateway that comes second', () => {
  it('says so when its connection is cut while it waits', async () => {
    const second = openEmbedded({ dataDir, role: 'gateway', onLost }).catch((error: unknown) => error)
    const cut = async () => {
      const { rowCount } = await admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'berth gateway%'
         AND query LIKE '%pg_try_advisory_lock%' AND pid NOT IN (SELECT pid FROM pg_locks WHERE objid = $1 AND granted)`,
        [locks.gateway],
      )
      return rowCount
    }
    await expect.poll(cut, { interval: 20 }).toBe(1)
    expect(await second).toMatchObject({ message: expect.stringMatching(/terminat|connection error/) })
  })
})
