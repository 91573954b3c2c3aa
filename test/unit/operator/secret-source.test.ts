import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database } from '../../../src/database/client.ts'
import { createSecretOperations, loadSecret } from '../../../src/secret-source.ts'

let dataDir: string
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'berth-source-'))
})
afterAll(() => rm(dataDir, { recursive: true }))

const [secret, newSecret, databaseUrl] = [
  'a secret of tests',
  'a new secret of tests',
  'postgresql://db.example.com/berth',
]
// A refused change reads no database.
const stores = { database: {} as Database, ownerUrl: '' }

it.each([
  ['without the old one', { newSecret, databaseUrl }, 'BERTH_SECRET is missing.'],
  ['without the new one', { secret, databaseUrl }, 'BERTH_NEW_SECRET is missing.'],
  ['to itself', { secret, newSecret: secret, databaseUrl }, 'BERTH_NEW_SECRET is the same as BERTH_SECRET.'],
  ['of the data folder to a given one', { newSecret }, 'BERTH_NEW_SECRET needs BERTH_SECRET, which is not set.'],
])('refuses to change a secret %s', async (_, settings, message) => {
  const source = { secret: undefined, newSecret: undefined, databaseUrl: undefined, dataDir, ...settings }
  await expect(createSecretOperations(source, stores).change(false)).rejects.toThrow(message)
})

it('takes the secret of the setting, else that of the data folder', async () => {
  const source = { newSecret: undefined, databaseUrl: undefined, dataDir }
  expect(await loadSecret({ ...source, secret })).toBe(secret)
  const kept = await loadSecret({ ...source, secret: undefined })
  expect([kept, await loadSecret({ ...source, secret: undefined })]).toEqual([
    expect.stringMatching(/^[0-9a-f]{64}$/),
    kept,
  ])
})
