import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { templatesOf } from '../../support/templates/templates.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
})

beforeEach(async () => {
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const hour = 3_600_000
const iso = (hours: number, from = app.clock.now()) => new Date(from.getTime() + hours * hour).toISOString()

async function usage(args: string, fields = 'cost buckets { startsAt endsAt cost groups { keys { value } cost } }') {
  const { data, errors } = await app.graphql(key, `{ viewer { account { usage(${args}) { ${fields} } } } }`)
  return errors ? { errors } : data.viewer.account.usage
}

describe('usage', () => {
  it('shows the cost of each hour, including running costs that are not charged yet', async () => {
    // The period begins half past the hour, so its first and last hours are cut.
    app.clock.advance(hour + hour / 2 - (app.clock.now().getTime() % hour))
    const begin = app.clock.now()
    await rentals.rent(key, { target_state: 'stopped' })
    app.clock.advance(2 * hour)
    const args = `startsAt: "${begin.toISOString()}", endsAt: "${iso(5, begin)}", bucket: HOUR`
    const half = { cost: '0.002', groups: [{ keys: [{ value: 'DISK' }], cost: '0.002' }] }
    const whole = { cost: '0.004', groups: [{ keys: [{ value: 'DISK' }], cost: '0.004' }] }
    const none = { cost: '0', groups: [] }
    const border = (hours: number) => iso(hours - 0.5, begin)
    expect(await usage(args)).toEqual({
      cost: '0.008',
      buckets: [
        { startsAt: begin.toISOString(), endsAt: border(1), ...half },
        { startsAt: border(1), endsAt: border(2), ...whole },
        { startsAt: border(2), endsAt: border(3), ...half },
        { startsAt: border(3), endsAt: border(4), ...none },
        { startsAt: border(4), endsAt: border(5), ...none },
        { startsAt: border(5), endsAt: iso(5, begin), ...none },
      ],
    })
  })

  it('is split at the borders of UTC days and months', async () => {
    const spans = async (bucket: string, from: string, to: string) => {
      const { buckets } = await usage(`startsAt: "${from}", endsAt: "${to}", bucket: ${bucket}`)
      return buckets.map(({ startsAt, endsAt }: { startsAt: string; endsAt: string }) =>
        [startsAt, endsAt].map(one => one.slice(0, 16)),
      )
    }
    expect(await spans('MONTH', '2027-12-31T23:30:00+01:00', '2028-03-01T00:00:00Z')).toEqual([
      ['2027-12-31T22:30', '2028-01-01T00:00'],
      ['2028-01-01T00:00', '2028-02-01T00:00'],
      ['2028-02-01T00:00', '2028-03-01T00:00'],
    ])
    expect(await spans('DAY', '2028-02-28T12:00:00Z', '2028-03-01T00:00:00.001Z')).toEqual([
      ['2028-02-28T12:00', '2028-02-29T00:00'],
      ['2028-02-29T00:00', '2028-03-01T00:00'],
      ['2028-03-01T00:00', '2028-03-01T00:00'],
    ])
    expect(await spans('DAY', '0000-12-31T12:00:00Z', '0001-01-01T12:00:00Z')).toHaveLength(2)
    expect(await spans('DAY', '9999-12-31T12:00:00Z', '9999-12-31T13:00:00Z')).toHaveLength(1)
  })

  const group = (...values: (string | null)[]) => ({ keys: values.map(value => ({ value })) })
  const totals = async (by: string, fields = 'keys { value }') =>
    (await usage(`startsAt: "${iso(-24)}", endsAt: "${iso(1)}", groupBy: [${by}]`, `totals { ${fields} }`)).totals

  it('is grouped by instance, volume, kind and API key', async () => {
    const id = await rentals.rent(key)
    const { machine_id } = await rentals.read(key, id)
    const other = await app.newScopedKey(key, { api: { instance_write: {}, misc: {} } })
    const volume = await volumesOf(app).make(other, machine_id, 20)
    await rentals.converge()
    app.clock.advance(hour)
    const [gpus, disk, stored] = [
      group(`ins_${id}`, null, 'GPU'),
      group(`ins_${id}`, null, 'DISK'),
      group(null, `vol_${volume}`, 'DISK'),
    ]
    expect(await totals('INSTANCE VOLUME KIND')).toEqual([gpus, stored, disk])
    expect(await totals('INSTANCE INSTANCE')).toEqual([group(`ins_${id}`), group(null)])
    expect(await totals('VOLUME')).toEqual([group(null), group(`vol_${volume}`)])
    const { data } = await app.graphql(key, '{ viewer { account { apiKeys { id } } } }')
    const keys = data.viewer.account.apiKeys.map((one: { id: string }) => one.id).reverse()
    expect(await totals('API_KEY')).toEqual(keys.map((apiKeyId: string) => group(apiKeyId)))
    const accrued = (await app.graphql(key, `{ instance(id: ${id}) { accruedCost } }`)).data.instance.accruedCost
    expect(await totals('INSTANCE', 'keys { value } cost')).toContainEqual({ ...group(`ins_${id}`), cost: accrued })
    const [whole] = await totals('', 'keys { value } cost')
    expect(whole).toEqual({ keys: [], cost: (await usage(`startsAt: "${iso(-24)}"`, 'cost')).cost })
  })

  it('is grouped by the label that an instance has now, and counts destroyed instances', async () => {
    const ids = [await rentals.rent(key, { label: 'train' }), await rentals.rent(key, { label: 'old' })]
    await rentals.rent(key, { target_state: 'stopped' })
    app.clock.advance(hour)
    await app.rest(key, 'PUT', `/instances/${ids[1]}/`, { label: 'train' })
    await app.rest(key, 'DELETE', `/instances/${ids[0]}/`)
    const disks = { cost: '0.008' }
    expect(await totals('LABEL KIND', 'keys { value } cost')).toEqual([
      { ...group('train', 'DISK'), ...disks },
      { ...group(null, 'DISK'), cost: '0.004' },
    ])
  })

  it('is grouped by the GPU model and the template of the rental', async () => {
    const { id: template, hashId } = await templatesOf(app).mustCreate(key)
    const id = await rentals.rent(key, { template_hash_id: hashId, image: undefined })
    const { machine_id } = await rentals.read(key, id)
    await rentals.rent(key, { target_state: 'stopped' })
    await volumesOf(app).make(key, machine_id, 20)
    app.clock.advance(hour)
    const [row] = await app.sql(`SELECT 'gpu_' || gpu_model_id AS id FROM machines WHERE id = ${machine_id}`)
    const { id: model } = row as { id: string }
    expect(await totals('GPU_MODEL TEMPLATE')).toEqual(
      expect.arrayContaining([group(model, template), group(model, null), group(null, null)]),
    )
    expect(await totals('TEMPLATE')).toHaveLength(2)
  })

  it('has the object of each key beside its ID', async () => {
    const { id: template, hashId } = await templatesOf(app).mustCreate(key)
    const id = await rentals.rent(key, { template_hash_id: hashId, image: undefined, label: 'mine' })
    const { machine_id } = await rentals.read(key, id)
    const volume = await volumesOf(app).make(key, machine_id, 20)
    app.clock.advance(hour)
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    const fields = `keys { dimension ... on KindUsageKey { kind } ... on InstanceUsageKey { instanceId instance { id } }
      ... on VolumeUsageKey { volumeId volume { id } } ... on ApiKeyUsageKey { apiKeyId apiKey { id current } }
      ... on LabelUsageKey { label } ... on GpuModelUsageKey { gpuModelId gpuModel { id name } }
      ... on TemplateUsageKey { templateId template { id } } }`
    const [ofVolume, ofInstance] = await totals('KIND INSTANCE VOLUME API_KEY LABEL GPU_MODEL TEMPLATE', fields)
    const apiKeyId = expect.stringMatching(/^key_/)
    const apiKey = { dimension: 'API_KEY', apiKeyId, apiKey: { id: apiKeyId, current: true } }
    const gpuModelId = expect.stringMatching(/^gpu_/)
    const instance = { instanceId: `ins_${id}`, instance: { id: `ins_${id}` } }
    expect(ofInstance.keys).toEqual([
      { dimension: 'KIND', kind: 'DISK' },
      { dimension: 'INSTANCE', ...instance },
      { dimension: 'VOLUME', volumeId: null, volume: null },
      apiKey,
      { dimension: 'LABEL', label: 'mine' },
      { dimension: 'GPU_MODEL', gpuModelId, gpuModel: { id: gpuModelId, name: 'RTX 4090' } },
      { dimension: 'TEMPLATE', templateId: template, template: { id: template } },
    ])
    expect(ofVolume.keys).toEqual([
      { dimension: 'KIND', kind: 'DISK' },
      { dimension: 'INSTANCE', instanceId: null, instance: null },
      { dimension: 'VOLUME', volumeId: `vol_${volume}`, volume: { id: `vol_${volume}` } },
      apiKey,
      { dimension: 'LABEL', label: null },
      { dimension: 'GPU_MODEL', gpuModelId: null, gpuModel: null },
      { dimension: 'TEMPLATE', templateId: null, template: null },
    ])
  })

  it('answers the rest if the key may not read an object', async () => {
    const id = await rentals.rent(key, { target_state: 'stopped' })
    app.clock.advance(hour)
    const reader = await app.newScopedKey(key, { api: { user_read: {}, billing_read: {} } })
    const query = `{ viewer { account { usage(groupBy: [INSTANCE]) { totals { cost keys { value ... on InstanceUsageKey { instance { id } } } } } } } }`
    const { data, errors } = await app.graphql(reader, query)
    expect(data.viewer.account.usage.totals).toEqual([
      { cost: '0.004', keys: [{ value: `ins_${id}`, instance: null }] },
    ])
    expect(errors?.map(({ extensions }) => extensions['code'])).toEqual(['FORBIDDEN'])
  })

  it('takes as many statements for 12 groups with objects as for one', async () => {
    const count = async (instances: number) => {
      const statements = await captureQueries(async () => {
        const found = await totals('INSTANCE LABEL', 'cost keys { ... on InstanceUsageKey { instance { id label } } }')
        expect(found).toHaveLength(instances)
      })
      return statements.length
    }
    const rent = async (number: number) => rentals.rent(key, { target_state: 'stopped', label: `run ${number}` })
    await rent(1)
    app.clock.advance(hour)
    const one = await count(1)
    for (let number = 2; number <= 12; number += 1) await rent(number)
    app.clock.advance(hour)
    expect(await count(12)).toBe(one)
  })

  it('leaves out the costs of other accounts', async () => {
    const id = await rentals.rent(await app.newKey(null, someCredit))
    await rentals.converge()
    const all = await usage(
      `startsAt: "${iso(-24)}", endsAt: "${iso(1)}", groupBy: [INSTANCE]`,
      'cost totals { keys { value } }',
    )
    expect(JSON.stringify(all)).not.toContain(`ins_${id}"`)
    expect(all.cost).toBe('0')
  })

  it.each([
    ['startsAt: "2026-11-01T00:00:00Z", endsAt: "2026-11-01T00:00:00Z"', 'endsAt', 'must be later than "startsAt".'],
    ['startsAt: "2026-11-02T00:00:00Z", endsAt: "2026-11-01T00:00:00Z"', 'endsAt', 'must be later than "startsAt".'],
    [
      'startsAt: "2026-10-01T00:00:00Z", endsAt: "2026-11-01T00:00:00.001Z", bucket: HOUR',
      'bucket',
      'splits the period into 745 hours; at most 744 are allowed.',
    ],
  ])('refuses %s', async (args, path, message) => {
    expect((await usage(args, 'cost')).errors[0].extensions).toMatchObject({
      code: 'BAD_USER_INPUT',
      issues: [{ path, message }],
    })
  })

  it('covers the current month by default', async () => {
    const month = '2026-11-01T00:00:00.000Z'
    const [day, last] = [await usage('bucket: MONTH'), await usage('startsAt: "2026-10-31T00:00:00Z", bucket: MONTH')]
    expect(day.buckets).toMatchObject([{ startsAt: month, endsAt: '2026-12-01T00:00:00.000Z' }])
    expect(last.buckets).toMatchObject([{ endsAt: month }, { startsAt: month, endsAt: '2026-12-01T00:00:00.000Z' }])
    const { data } = await app.graphql(key, '{ viewer { account { usage { buckets { startsAt } } } } }')
    expect(data.viewer.account.usage.buckets).toHaveLength(30)
  })

  it('returns a month of hourly buckets with all groupings', async () => {
    const args =
      'startsAt: "2026-10-01T00:00:00Z", endsAt: "2026-11-01T00:00:00Z", bucket: HOUR, groupBy: [KIND INSTANCE VOLUME API_KEY LABEL GPU_MODEL TEMPLATE]'
    const fields = 'cost totals { cost } buckets { startsAt cost groups { keys { dimension value } cost } }'
    expect((await usage(args, fields)).buckets).toHaveLength(744)
  })
})
