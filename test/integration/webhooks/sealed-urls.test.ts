// The URLs of webhooks are sealed: also those of databases from before.

import pg from 'pg'
import { beforeEach, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../../src/database/client.ts'
import { migrate } from '../../../src/database/migrations.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { sealWebhookUrls } from '../../../src/services/webhooks/seal-urls.ts'
import { startApp } from '../../support/app.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { dumpDatabase } from '../../support/database/dump.ts'
import { migrateUntil } from '../../support/database/migrations.ts'
import { urlAs } from '../../support/database/roles.ts'
import { webhooksOf } from '../../support/webhooks/webhooks.ts'

const migration = '20261126061900_sealed_webhook_urls'
const secrets = createSecrets('a secret of tests')
const token = 'T0KEN-in-the-URL'
const urlOf = (id: number) => `https://hooks.example.com/${token}/${id}`

let testDatabase: TestDatabase
let database: Database
let client: pg.Client

beforeEach(async () => {
  testDatabase = await createDatabase({ empty: true })
  await migrateUntil(urlAs('owner', testDatabase.url), migration)
  client = new pg.Client({ connectionString: testDatabase.url })
  await client.connect()
  await client.query(`INSERT INTO accounts (email, created_at) VALUES ('ada@example.com', now())`)
  database = openDatabase({ url: testDatabase.url, poolSize: 4, onIdleError: () => {} })
  return async () => {
    await database.close()
    await client.end()
    await testDatabase.drop()
  }
})

/** Creates webhooks as versions before this migration did. */
const addWebhooks = async (count: number, deletedAt: string | null = null) =>
  await client.query(
    `INSERT INTO webhooks (account_id, url, kinds, secret, created_at, deleted_at)
     SELECT min(a.id), 'https://hooks.example.com/${token}/' || n, '{CREDIT_GRANTED}', $1, now(), $2
     FROM accounts a, generate_series(1, $3) n GROUP BY n ORDER BY n`,
    [secrets.seal('whsec_old'), deletedAt, count],
  )
const readUrls = async () => {
  const { rows } = await client.query('SELECT id, sealed_url, unsealed_url FROM webhooks ORDER BY id')
  return rows.map(({ id, sealed_url, unsealed_url }) => {
    return { id, url: sealed_url.length > 0 ? secrets.open(sealed_url) : '', unsealed: unsealed_url }
  })
}
const sealedUpTo = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: index + 1, url: urlOf(index + 1), unsealed: null }))

it('seals what it finds, before any of two gateways is ready', async () => {
  await addWebhooks(3)
  await addWebhooks(1, '2026-11-26T00:00:00Z')
  const options = { databaseUrl: testDatabase.url }
  const [one, other] = await Promise.all([startApp(options), startApp(options)])
  expect(await readUrls()).toEqual([...sealedUpTo(3), { id: 4, url: '', unsealed: null }])
  expect(await dumpDatabase(testDatabase.url)).not.toContain(token)
  const { apiKey } = await one.operations.accounts.createApiKey('ada@example.com', { permissions: null })
  for (const app of [one, other]) {
    const shown = await webhooksOf(app).list(apiKey)
    expect(shown.map(({ url }: { url: string }) => url)).toEqual([1, 2, 3].map(urlOf))
  }
  for (const app of [one, other]) await app.close()
})

it('goes on where a gateway crashed, and does no harm twice at a time', async () => {
  await addWebhooks(2_500)
  await migrate(testDatabase.url)
  let writes = 0
  const crashing: Database = {
    ...database,
    execute(statement) {
      writes += 1
      if (writes > 1) throw new Error('The gateway was killed.')
      return database.execute(statement)
    },
  }
  await expect(sealWebhookUrls({ database: crashing, secrets })).rejects.toThrow('killed')
  const half = await readUrls()
  expect(half.filter(({ unsealed }) => unsealed === null)).toEqual(sealedUpTo(1_000))
  await Promise.all([sealWebhookUrls({ database, secrets }), sealWebhookUrls({ database, secrets })])
  expect(await readUrls()).toEqual(sealedUpTo(2_500))
})

it('leaves no older gateway a column to write a URL to, and every webhook one URL until it is deleted', async () => {
  await migrate(testDatabase.url)
  await expect(addWebhooks(1)).rejects.toMatchObject({ code: '42703' })
  const insert = (urls: string, deletedAt = 'NULL') =>
    client.query(`INSERT INTO webhooks (account_id, sealed_url, unsealed_url, kinds, secret, created_at, deleted_at)
      SELECT id, ${urls}, '{}', '', now(), ${deletedAt} FROM accounts`)
  await insert("'sealed', NULL")
  await insert("'', 'https://example.com'")
  await insert("'', NULL", 'now()')
  for (const [urls, deletedAt] of [["'sealed', 'https://example.com'"], ["'', NULL"], ["'sealed', NULL", 'now()']])
    await expect(insert(urls as string, deletedAt)).rejects.toMatchObject({ constraint: 'webhooks_have_one_url' })
})

it('forgets the URL of a webhook that is deleted', async () => {
  const app = await startApp()
  const key = await app.newKey()
  const { id } = await webhooksOf(app).create(key, urlOf(1))
  await webhooksOf(app).mutate(key, 'delete', { id })
  expect(await app.sql('SELECT sealed_url, unsealed_url FROM webhooks')).toEqual([
    { sealed_url: Buffer.alloc(0), unsealed_url: null },
  ])
  await app.close()
})
