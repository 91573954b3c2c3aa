// A rental with volumes goes to the machine that has the volumes, or to a machine with room for new volumes.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines, type MachineListing } from '../../support/factories.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

let app: TestApp
let rentals: Rentals
let volumes: ReturnType<typeof volumesOf>
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  volumes = volumesOf(app)
})

beforeEach(async () => {
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const refusal = '... on Error { code message } ... on InvalidInputError { issues { path message } }'
const success = 'instance { offer { id } volumes { mountPath volume { id } } }'

async function rentMutation(field: 'rentInstance' | 'rentBestOffer', input: object) {
  const type = `${field[0]?.toUpperCase()}${field.slice(1)}`
  const attempts = 'attempts { offerId failure }'
  const only = field === 'rentBestOffer' ? [attempts, `... on NoOfferRentedError { ${attempts} }`] : ['', '']
  const query = `mutation ($input: ${type}Input!) { ${field}(input: $input) {
    ${refusal} ... on ${type}Success { ${success} ${only[0]} } ${only[1]} } }`
  const { data, errors } = await app.graphql(key, query, { input })
  expect(errors).toBeUndefined()
  return data[field]
}

const existingMount = (volumeId: number, mountPath = '/data') => ({ mountPath, source: { volumeId: String(volumeId) } })
const newMount = (sizeGb: number, mountPath = '/new') => ({ mountPath, source: { create: { sizeGb } } })
const spec = (mounts: object[], diskGb = 8) => ({ source: { image: 'ubuntu' }, diskGb, volumes: mounts })

const machineOf = async (offer: number) => {
  const [row] = await app.sql(`SELECT machine_id AS id FROM offers WHERE id = ${offer}`)
  return (row as { id: number }).id
}

describe('a rental', () => {
  const rent = (offer: number, mounts: object[], diskGb?: number) =>
    rentMutation('rentInstance', { offerId: String(offer), spec: spec(mounts, diskGb) })

  it('refuses a volume on another machine', async () => {
    const [here, there] = [await rentals.newOffer(), await rentals.newOffer()]
    const [near, far] = [
      await volumes.make(key, await machineOf(here)),
      await volumes.make(key, await machineOf(there)),
    ]
    const answer = await rent(here, [existingMount(near), existingMount(far, '/far')])
    const [machine, other] = [await machineOf(here), await machineOf(there)]
    const places = `must be on machine mch_${machine}, the machine of the offer, but volume vol_${far} is on machine mch_${other}.`
    expect(answer).toMatchObject({ code: 'INVALID_INPUT', issues: [{ path: 'spec.volumes', message: places }] })
    const { body } = await app.rest(key, 'PUT', `/asks/${here}/`, {
      image: 'ubuntu',
      volume_info: { volume_id: far, mount_path: '/far' },
    })
    expect(body).toMatchObject({
      error: 'invalid_args',
      msg: expect.stringContaining(places.replaceAll(/(mch|vol)_/g, '')),
    })
    expect((await rent(here, [existingMount(near)])).instance.volumes).toEqual([
      { mountPath: '/data', volume: { id: `vol_${near}` } },
    ])
  })

  it('refuses a volume of another account like an unknown volume', async () => {
    const offer = await rentals.newOffer()
    const stranger = await app.newKey(null, someCredit)
    const foreign = await volumes.make(stranger, await machineOf(offer))
    const deleted = await volumes.make(key, await machineOf(offer))
    await volumes.remove(key, deleted)
    for (const id of [foreign, deleted, 987_654]) {
      expect(await rent(offer, [existingMount(id)])).toMatchObject({
        code: 'NOT_FOUND',
        message: `Volume vol_${id} not found.`,
      })
    }
  })

  it('creates volumes only on machines that its key permits', async () => {
    const [here, there] = [await rentals.newOffer(), await rentals.newOffer()]
    const constraints = { machineId: { eq: await machineOf(here) } }
    const grant = { 'instances.rent': {}, 'volumes.create': { constraints } }
    const bound = await app.newScopedKey(key, { api: { instance_read: {}, instance_write: grant } })
    const outcome = async (offer: number) => {
      const input = { offerId: String(offer), spec: spec([newMount(1)]) }
      const query = 'mutation ($input: RentInstanceInput!) { rentInstance(input: $input) { __typename } }'
      const { data, errors } = await app.graphql(bound, query, { input })
      return errors?.[0]?.extensions['code'] ?? data.rentInstance.__typename
    }
    expect([await outcome(there), await outcome(here)]).toEqual(['FORBIDDEN', 'RentInstanceSuccess'])
  })

  it('can take all free disk of its machine for its disk and its volumes, but no more', async () => {
    const offer = await rentals.newOffer({ diskMb: 50_000 })
    const answer = await rent(offer, [newMount(20), newMount(19.501, '/other')], 10.5)
    expect(answer).toMatchObject({
      code: 'INVALID_INPUT',
      issues: [{ path: 'spec.volumes', message: 'must have at most 39.5 GB in all: the machine has no more free.' }],
    })
    expect(await volumes.freeDiskMb(await machineOf(offer))).toBe(50_000)
    expect((await rent(offer, [newMount(20), newMount(19.5, '/other')], 10.5)).instance.volumes).toHaveLength(2)
    expect(await volumes.freeDiskMb(await machineOf(offer))).toBe(0)
  })
})

describe('the best offer', () => {
  let country = 'A'
  beforeEach(() => {
    country = String.fromCharCode(country.charCodeAt(0) + 1)
  })

  /** Lists machines with one GPU in a new country, in ascending order of price, and returns their offers. */
  async function market(...machines: MachineListing['machine'][]): Promise<number[]> {
    const priced = machines.map((machine, index) => ({
      machine: { country: `${country}Y`, gpuNanos: 200_000_000n + BigInt(index), ...machine },
    }))
    await listMachines(app.operations, priced)
    const rows = await app.sql(`SELECT id FROM offers WHERE country = '${country}Y' ORDER BY machine_id`)
    return rows.map(row => Number((row as { id: string }).id))
  }

  const best = (terms: object, mounts: object[] = []) =>
    rentMutation('rentBestOffer', { filter: { country: { eq: `${country}Y` } }, terms, spec: spec(mounts) })
  const onDemand = (maxPricePerHour: string) => ({ onDemand: { maxPricePerHour } })
  const bid = (bidPerHour: string) => ({ interruptible: { bidPerHour } })
  const tried = (offer: number | undefined, failure: string | null = null) => ({ offerId: `off_${offer}`, failure })

  it('is on the machine that has the volume', async () => {
    const [, second] = await market({}, {}, {})
    const volumeId = await volumes.make(key, await machineOf(second as number))
    expect(await best(onDemand('1'), [existingMount(volumeId)])).toMatchObject({ attempts: [tried(second)] })
  })

  it('is on a machine with room for the disk and the new volumes', async () => {
    const [, second] = await market({ diskMb: 27_999 }, { diskMb: 28_000 })
    expect(await best(onDemand('1'), [newMount(15), newMount(5, '/more')])).toMatchObject({ attempts: [tried(second)] })
  })

  it('costs at most the maximum price, new volumes included', async () => {
    await market({})
    // 8 GB of disk and 20 GB of volumes, at $0.0005 per GB and hour.
    expect(await best(onDemand('0.213999999'), [newMount(20)])).toMatchObject({ code: 'NO_OFFER_RENTED', attempts: [] })
    expect(await best(onDemand('0.214'), [newMount(20)])).toMatchObject({ attempts: [{ failure: null }] })
  })

  it('is the next offer if rounding the price of each volume makes the first offer too expensive', async () => {
    // 1 GB costs half a nano-dollar: 12 GB together cost six, but rounding up each of four volumes makes it eight.
    const [first, second] = await market(
      { diskPricePerGbMonthNanos: 360n },
      { gpuNanos: 200_000_006n, diskPricePerGbMonthNanos: 0n },
    )
    const mounts = [1, 2, 3, 4].map(number => newMount(1, `/${number}`))
    expect(await best(onDemand('0.200000006'), mounts)).toMatchObject({
      attempts: [tried(first, 'PRICE_CHANGED'), tried(second)],
    })
  })

  it('is the next offer if the host of the first offer has raised its minimum bid', async () => {
    const [first, second] = await market({}, {})
    await app.sql(`UPDATE machines SET min_bid_gpu_nanos = 150000001 WHERE id = ${await machineOf(first as number)}`)
    expect(await best(bid('0.15'))).toMatchObject({ attempts: [tried(first, 'BID_TOO_LOW'), tried(second)] })
  })
})
