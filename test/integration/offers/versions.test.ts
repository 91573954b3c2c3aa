// Versions in offers: CUDA, driver, Ubuntu and compute capability.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { withSession } from '../../support/database/sessions.ts'
import { listMachines } from '../../support/factories.ts'

let app: TestApp
let key: string

/** Each machine is named after its GPU model. */
const machines = [
  { name: 'old', capability: '6.1', cuda: '9.2', driver: '390.157', os: '18.04' },
  { name: 'nine', capability: '8.9', cuda: '12.9', driver: '575.64.03', os: '22.04' },
  { name: 'ten', capability: '10.0', cuda: '12.10', driver: '575.64.3', os: '22.10' },
  { name: 'even', capability: '12.0', cuda: '13', driver: '580.0', os: '24.04.3' },
  { name: 'amd', vendor: 'amd' as const, capability: null, cuda: null, driver: '6.3.1', os: null },
]

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  await listMachines(
    app.operations,
    machines.map(({ name, vendor = 'nvidia' as const, capability, cuda, driver, os }) => ({
      model: { name, vendor, computeCapability: capability },
      machine: { numGpus: 1, cudaVersion: cuda, driverVersion: driver, osVersion: os },
    })),
  )
})

afterAll(() => app.close())

const search = (filter: object, orderBy: object[] = [{ field: 'LISTED_AT' }]) =>
  app.graphql(
    key,
    `query ($filter: OfferFilter, $orderBy: [OfferOrder!]!) { offers(filter: $filter, orderBy: $orderBy) { nodes {
       gpuName machine { cudaVersion driverVersion osVersion gpu { computeCapability } } } } }`,
    { filter, orderBy },
  )

async function found(filter: object, orderBy?: object[]): Promise<string[]> {
  const { data, errors } = await search(filter, orderBy)
  expect(errors).toBeUndefined()
  return data.offers.nodes.map(({ gpuName }: { gpuName: string }) => gpuName)
}

describe('a version', () => {
  it('is shown exactly as the host wrote it', async () => {
    const { data } = await search({})
    const shown = data.offers.nodes.map(
      ({ gpuName, machine }: { gpuName: string; machine: Record<string, unknown> }) => ({
        name: gpuName,
        capability: (machine['gpu'] as { computeCapability: string }).computeCapability,
        cuda: machine['cudaVersion'],
        driver: machine['driverVersion'],
        os: machine['osVersion'],
      }),
    )
    expect(shown).toEqual(machines.map(({ vendor: _, ...rest }) => rest))
  })

  it.each([
    [{ cudaVersion: { eq: '12.10' } }, ['ten']],
    [{ cudaVersion: { eq: '12.1' } }, []],
    [{ cudaVersion: { gt: '12.9' } }, ['ten', 'even']],
    [{ cudaVersion: { gte: '12.9' } }, ['nine', 'ten', 'even']],
    [{ cudaVersion: { lt: '12.10' } }, ['old', 'nine']],
    [{ cudaVersion: { lte: '12.10' } }, ['old', 'nine', 'ten']],
    [{ cudaVersion: { eq: '13.0' } }, ['even']],
    [{ cudaVersion: { neq: '13.0.0' } }, ['old', 'nine', 'ten', 'amd']],
    [{ cudaVersion: { in: ['9.2', '13.0'] } }, ['old', 'even']],
    [{ cudaVersion: { nin: ['9.2', '13.0'] } }, ['nine', 'ten', 'amd']],
    [{ cudaVersion: { in: [] } }, []],
    [{ cudaVersion: { nin: [] } }, ['old', 'nine', 'ten', 'even', 'amd']],
    [{ cudaVersion: { gte: '0' } }, ['old', 'nine', 'ten', 'even']],
    [{ cudaVersion: { lt: '999999999' } }, ['old', 'nine', 'ten', 'even']],
    [{ driverVersion: { eq: '575.64.03' } }, ['nine', 'ten']],
    [{ driverVersion: { gte: '580' } }, ['even']],
    [{ driverVersion: { lt: '390.157.0.1' } }, ['old', 'amd']],
    [{ osVersion: { gt: '22.04', lt: '24.5' } }, ['ten', 'even']],
    [{ osVersion: { nin: ['22.04'] } }, ['old', 'ten', 'even', 'amd']],
    [{ computeCapability: { gte: '8.9' } }, ['nine', 'ten', 'even']],
    [{ computeCapability: { lt: '10' } }, ['old', 'nine']],
    [{ or: [{ computeCapability: { in: ['8.9'] } }, { cudaVersion: { lt: '12' } }] }, ['old', 'nine']],
  ])('is compared part by part by %j', async (filter, expected) => {
    expect(await found(filter)).toEqual(expected)
  })

  it.each([
    ['CUDA_VERSION', ['amd', 'old', 'nine', 'ten', 'even']],
    ['OS_VERSION', ['amd', 'old', 'nine', 'ten', 'even']],
    ['COMPUTE_CAPABILITY', ['amd', 'old', 'nine', 'ten', 'even']],
    ['DRIVER_VERSION', ['amd', 'old', 'nine', 'ten', 'even']],
  ])('orders by %s, part by part', async (field, expected) => {
    expect(await found({}, [{ field }, { field: 'LISTED_AT' }])).toEqual(expected)
    const descending = [
      { field, direction: 'DESC' },
      { field: 'LISTED_AT', direction: 'DESC' },
    ]
    expect(await found({}, descending)).toEqual(expected.toReversed())
  })

  it.each([
    ['cudaVersion', { eq: 'v12' }, 'eq: "v12" is not a version such as 12.8 or 580.105.08.'],
    ['cudaVersion', { in: ['12.8', ''] }, 'in: "" is not a version such as 12.8 or 580.105.08.'],
    ['osVersion', { gte: '24.04 LTS' }, 'gte: "24.04 LTS" is not a version such as 12.8 or 580.105.08.'],
    ['computeCapability', { lt: '8.9.' }, 'lt: "8.9." is not a version such as 12.8 or 580.105.08.'],
    ['driverVersion', { nin: ['1.2.3.4.5'] }, 'nin: "1.2.3.4.5" is not a version such as 12.8 or 580.105.08.'],
    ['driverVersion', { in: Array(201).fill('535') }, 'in: takes at most 200 values, not 201.'],
  ])('is refused in %s: %o', async (field, comparison, message) => {
    const { errors } = await search({ [field]: comparison })
    expect(errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT')
    expect(errors?.[0]?.message).toContain(`filter.${field}.${message}`)
  })

  it.each(['cuda_version', 'driver_version', 'os_version'])('is found by the index of %s', async column => {
    await withSession(app.database.url, async session => {
      await session.query('SET enable_seqscan = off')
      const text = `EXPLAIN SELECT id FROM machines WHERE version_key(${column}) >= version_key('12.8')`
      const { rows } = await session.query<{ 'QUERY PLAN': string }>(text)
      expect(rows.map(row => row['QUERY PLAN']).join('\n')).toContain(`machines_by_${column}`)
    })
  })
})

describe('REST', () => {
  const rows = async (query: object) =>
    (await app.rest(key, 'POST', '/bundles/', { order: [['id', 'asc']], ...query })).body.offers

  it('shows versions as numbers', async () => {
    const columns = ['gpu_name', 'compute_cap', 'cuda_max_good', 'driver_version', 'driver_vers', 'os_version']
    const shown = (await rows({})).map((row: Record<string, unknown>) => columns.map(column => row[column]))
    expect(shown).toEqual([
      ['old', 610, 9.2, '390.157.00', 390_157_000, '18.04'],
      ['nine', 890, 12.9, '575.64.03', 575_064_003, '22.04'],
      ['ten', 1000, 12.1, '575.64.03', 575_064_003, '22.10'],
      ['even', 1200, 13, '580.0.00', 580_000_000, '24.04'],
      ['amd', 0, 0, '6.3.1', 6_003_001, '0.00'],
    ])
  })

  it.each([
    [{ cuda_max_good: { gte: 12.9 } }, ['nine', 'even']],
    [{ cuda_max_good: { lt: 12.2 } }, ['old', 'ten', 'amd']],
    [{ cuda_vers: { eq: '0' } }, ['amd']],
    [{ compute_cap: { gte: 890, lt: 1200 } }, ['nine', 'ten']],
    [{ compute_cap: { eq: 0 } }, ['amd']],
    [{ driver_version: { gte: '575.64.03' } }, ['nine', 'ten', 'even']],
    [{ driver_vers: { lt: 575_064_003 } }, ['old', 'amd']],
    [{ os_version: { eq: 22.1 } }, ['ten']],
    [{ ubuntu_version: { lt: '20' } }, ['old', 'amd']],
  ])('compares numbers by %j', async (query, expected) => {
    expect((await rows(query)).map((row: { gpu_name: string }) => row.gpu_name)).toEqual(expected)
  })

  it('orders by numbers', async () => {
    const names = (await rows({ order: [['cuda_max_good', 'asc']] })).map((row: { gpu_name: string }) => row.gpu_name)
    expect(names).toEqual(['amd', 'old', 'ten', 'nine', 'even'])
  })
})
