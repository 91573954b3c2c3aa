import fc from 'fast-check'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  compareVersions,
  computeCapabilityNumberOf,
  driverVersionNumberOf,
  versionKeyOf,
  versionNumberOf,
} from '../../../src/domain/machines/versions.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'

let testDatabase: TestDatabase
let client: Client

beforeAll(async () => {
  testDatabase = await createDatabase()
  client = new Client(testDatabase.url)
  await client.connect()
})

afterAll(async () => {
  await client.end()
  await testDatabase.drop()
})

const part = fc.oneof(
  fc.constantFrom('0', '00', '1', '01', '10', '9', '100'),
  fc.integer({ min: 0, max: 999_999_999 }).map(String),
)
const parts = fc.array(part, { minLength: 1, maxLength: 4 }).map(all => all.join('.'))
const version = fc.option(parts, { freq: 20 })
const driverPart = fc.integer({ min: 0, max: 999 }).map(String)
const driver = fc.array(driverPart, { minLength: 1, maxLength: 3 }).map(all => all.join('.'))
const capability = fc.tuple(fc.nat(999), fc.nat(99)).map(all => all.join('.'))
const many = { minLength: 50, maxLength: 50 }

it('versions have the same keys, numbers and order in SQL', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(version, many), async versions => {
      const { rows } = await client.query(
        `SELECT version_key(v) AS key, version_number(v) AS number, version_key(v) < version_key($2) AS older,
           version_key(v) = version_key($2) AS same FROM unnest($1::text[]) WITH ORDINALITY AS u(v, n) ORDER BY n`,
        [versions, versions[0]],
      )
      const first = versions[0] ?? null
      expect(rows).toEqual(
        versions.map(v => ({
          key: versionKeyOf(v),
          number: versionNumberOf(v),
          older: compareVersions(v, first) < 0,
          same: compareVersions(v, first) === 0,
        })),
      )
    }),
    { numRuns: 50 },
  )
})

it('driver versions and compute capabilities have the same numbers in SQL', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(driver, many), fc.array(capability, many), async (drivers, capabilities) => {
      const { rows } = await client.query(
        `SELECT driver_version_number(d)::int8::text AS driver,
           round((version_number(c) * 100)::numeric)::int AS capability
         FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u(d, c, n) ORDER BY n`,
        [drivers, capabilities],
      )
      expect(rows.map(({ driver }) => Number(driver))).toEqual(drivers.map(driverVersionNumberOf))
      expect(rows.map(row => row.capability)).toEqual(capabilities.map(computeCapabilityNumberOf))
    }),
    { numRuns: 50 },
  )
})

it('a version is older than another exactly if the other is newer', () => {
  fc.assert(
    fc.property(version, version, (a, b) => {
      expect(Math.sign(compareVersions(a, b))).toBe(-Math.sign(compareVersions(b, a)) || 0)
    }),
  )
})
