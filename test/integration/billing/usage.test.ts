import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
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

async function usage(args: string, fields = 'cost buckets { startsAt endsAt cost groups { kind cost } }') {
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
    const half = { cost: '0.002', groups: [{ kind: 'DISK', cost: '0.002' }] }
    const whole = { cost: '0.004', groups: [{ kind: 'DISK', cost: '0.004' }] }
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

  it('is grouped by instance and volume, kind, and API key', async () => {
    const id = await rentals.rent(key)
    const { machine_id } = await rentals.read(key, id)
    const other = await app.newScopedKey(key, { api: { instance_write: {}, misc: {} } })
    const volume = await volumesOf(app).make(other, machine_id, 20)
    await rentals.converge()
    const groups = async (by: string, fields: string) => {
      const { buckets } = await usage(
        `startsAt: "${iso(-24)}", endsAt: "${iso(1)}", bucket: MONTH, groupBy: [${by}]`,
        `buckets { groups { ${fields} } }`,
      )
      return buckets[0].groups
    }
    expect(await groups('INSTANCE KIND', 'kind instanceId volumeId apiKeyId')).toEqual([
      { kind: 'GPU', instanceId: `ins_${id}`, volumeId: null, apiKeyId: null },
      { kind: 'DISK', instanceId: `ins_${id}`, volumeId: null, apiKeyId: null },
      { kind: 'DISK', instanceId: null, volumeId: `vol_${volume}`, apiKeyId: null },
    ])
    const { data } = await app.graphql(key, '{ viewer { account { apiKeys { id } } } }')
    const keys = data.viewer.account.apiKeys.map((one: { id: string }) => one.id).reverse()
    expect(await groups('API_KEY', 'apiKeyId kind')).toEqual(keys.map((apiKeyId: string) => ({ apiKeyId, kind: null })))
    const accrued = (await app.graphql(key, `{ instance(id: ${id}) { accruedCost } }`)).data.instance.accruedCost
    expect(await groups('INSTANCE', 'instanceId cost')).toContainEqual({ instanceId: `ins_${id}`, cost: accrued })
    expect(await groups('', 'cost')).toHaveLength(1)
  })

  it('leaves out the costs of other accounts', async () => {
    const id = await rentals.rent(await app.newKey(null, someCredit))
    await rentals.converge()
    const all = await usage(
      `startsAt: "${iso(-24)}", endsAt: "${iso(1)}", groupBy: [INSTANCE]`,
      'cost buckets { groups { instanceId } }',
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
      'startsAt: "2026-10-01T00:00:00Z", endsAt: "2026-11-01T00:00:00Z", bucket: HOUR, groupBy: [INSTANCE KIND API_KEY]'
    const fields = 'cost buckets { startsAt cost groups { kind instanceId volumeId apiKeyId cost } }'
    expect((await usage(args, fields)).buckets).toHaveLength(744)
  })
})
