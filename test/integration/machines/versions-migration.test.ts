// Migrates a database that has versions as numbers.

import { readFile } from 'node:fs/promises'
import { Client } from 'pg'
import { expect, it } from 'vitest'
import { migrate } from '../../../src/database/migrations.ts'
import { createDatabase } from '../../support/database/database.ts'
import { migrateUntil } from '../../support/database/migrations.ts'

const [billing, versions] = ['20261121170000_billing', '20261123120000_versions']

const numbers = [
  { vendor: 'nvidia', cuda: 12.8, driver: 570_172_008, os: 22.04, capability: 890 },
  { vendor: 'nvidia', cuda: 13, driver: 565_077_000, os: 24.1, capability: 1200 },
  { vendor: 'nvidia', cuda: 12.125, driver: 535_183_106, os: 22, capability: 905 },
  { vendor: 'amd', cuda: 0, driver: 6_003_001, os: 0, capability: 0 },
]

it('makes texts of the numbers, as they were shown', async () => {
  const testDatabase = await createDatabase({ empty: true })
  await migrateUntil(testDatabase.url, billing)
  const client = new Client(testDatabase.url)
  await client.connect()
  const tables = JSON.parse(await readFile(new URL('../../data/before-billing.json', import.meta.url), 'utf8'))
  const load = (table: string, rows: object[]) =>
    client.query(`INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`, [
      JSON.stringify(rows),
    ])
  await load('accounts', tables.accounts)
  const [[model], [machine]] = [tables.gpu_models, tables.machines]
  const rows = numbers.map((row, index) => ({ ...row, id: 1_000 + index }))
  await load(
    'gpu_models',
    rows.map(({ id, vendor, capability }) => {
      return { ...model, id, name: `Model ${id}`, architecture: vendor, compute_capability: capability }
    }),
  )
  await load(
    'machines',
    rows.map(({ id, cuda, driver, os }) => {
      const address = { public_ip: `203.0.113.${id - 999}` }
      return {
        ...machine,
        ...address,
        id,
        gpu_model_id: id,
        cuda_version: cuda,
        driver_version: driver,
        os_version: os,
      }
    }),
  )
  await migrateUntil(testDatabase.url, versions)
  expect((await migrate(testDatabase.url)).at(0)).toBe(versions)
  const migrated = await client.query(`
    SELECT cuda_version, driver_version, os_version, compute_capability
    FROM machines m JOIN gpu_models g ON g.id = m.gpu_model_id WHERE m.id >= 1000 ORDER BY m.id`)
  expect(migrated.rows.map(row => Object.values(row))).toEqual([
    ['12.8', '570.172.08', '22.04', '8.9'],
    ['13.0', '565.77.00', '24.10', '12.0'],
    ['12.125', '535.183.106', '22.00', '9.05'],
    [null, '6.3.1', null, null],
  ])
  await client.end()
  await testDatabase.drop()
})
