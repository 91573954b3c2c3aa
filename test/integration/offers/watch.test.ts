// Subscriptions to the changes of offers.

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maxWatched } from '../../../src/domain/offers/watch.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { listMachines } from '../../support/factories.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { type Subscription, subscribeSse } from '../../support/streams.ts'

let app: TestApp
let rentals: Rentals
let renter: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  renter = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

type Change = { kind: string; offerId: string; offer: Record<string, unknown> | null }

const fields = 'kind offerId offer { id numGpus minimumBidPerHour maxDiskGb rentable }'
const watch = (args: string, key = renter) =>
  subscribeSse(app.fetch, key, `subscription { offerChanges(${args}) { ${fields} } }`)
const ofMachine = (id: number, more = '') => `filter: { machineId: { eq: "${id}" } ${more} }`

async function newMachine(machine = {}): Promise<{ machineId: number; offerIds: string[] }> {
  const offerId = await rentals.newOffer(machine)
  const rows = (await app.sql(`
    SELECT machine_id, id FROM offers WHERE machine_id = (SELECT machine_id FROM offers WHERE id = ${offerId})
    ORDER BY num_gpus DESC, id`)) as { machine_id: number; id: string }[]
  return { machineId: rows[0]?.machine_id as number, offerIds: rows.map(({ id }) => `off_${id}`) }
}

async function takeChanges(stream: Subscription, count: number): Promise<Change[]> {
  const changes: Change[] = []
  while (changes.length < count) {
    const result = await stream.next()
    expect(result?.errors).toBeUndefined()
    changes.push(result?.data.offerChanges)
  }
  return changes
}

const describeChanges = (changes: Change[]) => changes.map(({ kind, offerId }) => `${kind} ${offerId}`).toSorted()
const rent = (offerId: string, body = {}) =>
  app.rest(renter, 'PUT', `/asks/${offerId.slice('off_'.length)}/`, { image: 'ubuntu', ...body })

describe('a stream of offers', () => {
  it('reports a rented offer, the offers that overlap it, and the new offers when the GPUs are free again', async () => {
    const { machineId, offerIds } = await newMachine({ numGpus: 2 })
    const [both, first, second] = offerIds as [string, string, string]
    const stream = await watch(ofMachine(machineId))
    const { body } = await rent(first)
    const gone = await takeChanges(stream, 3)
    expect(describeChanges(gone)).toEqual([`REMOVED ${both}`, `REMOVED ${first}`, `UPDATED ${second}`].toSorted())
    // The other half of the machine has less disk left.
    expect(gone.find(({ offerId }) => offerId === second)?.offer).toMatchObject({ maxDiskGb: 892, rentable: true })
    await app.rest(renter, 'DELETE', `/instances/${body.new_contract}/`)
    const back = await takeChanges(stream, 2)
    expect(describeChanges(back)).toEqual([`ADDED ${both}`, expect.stringMatching(/^ADDED off_\d+$/)])
    expect(describeChanges(back)).not.toContain(`ADDED ${first}`)
    await stream.close()
  })

  it('reports a new minimum bid, priced with the requested disk', async () => {
    const { machineId, offerIds } = await newMachine({ numGpus: 2 })
    const terms = 'pricing: { rentalKind: INTERRUPTIBLE, diskGb: 80 }'
    const stream = await watch(`${ofMachine(machineId)} ${terms}`)
    const [both, first] = offerIds as [string, string]
    await rent(first, { price: 0.3 })
    const changes = await takeChanges(stream, 4)
    expect(describeChanges(changes)).toHaveLength(4)
    expect(changes.find(({ offerId }) => offerId === both)).toEqual({
      ...{ kind: 'UPDATED', offerId: both },
      // Twice the bid plus a step, and 80 GB at $0.36 per GB per month of 720 hours.
      offer: expect.objectContaining({ minimumBidPerHour: '0.601' }),
    })
    await stream.close()
  })

  it('reports a machine that is listed, drained, resumed and unlisted', async () => {
    const model = 'GPU of the followed'
    const stream = await watch(`filter: { gpuName: { startsWith: "${model}" } }`)
    await listMachines(app.operations, [{ model: { name: model } }])
    const [{ kind, offerId, offer }] = (await takeChanges(stream, 1)) as [Change]
    expect([kind, offer?.['id']]).toEqual(['ADDED', offerId])
    const [row] = (await app.sql(`SELECT machine_id FROM offers WHERE id = ${offerId.slice(4)}`)) as [
      { machine_id: number },
    ]
    await app.operations.machines.drain(row.machine_id)
    expect(describeChanges(await takeChanges(stream, 1))).toEqual([`REMOVED ${offerId}`])
    await app.operations.machines.resume(row.machine_id)
    expect(describeChanges(await takeChanges(stream, 1))).toEqual([`ADDED ${offerId}`])
    await app.operations.machines.unlist(row.machine_id)
    expect(describeChanges(await takeChanges(stream, 1))).toEqual([`REMOVED ${offerId}`])
    await stream.close()
  })

  it('reports changes caused by volumes, including offers that stop or start matching the filter', async () => {
    const { machineId, offerIds } = await newMachine()
    const all = await watch(ofMachine(machineId))
    const large = await watch(ofMachine(machineId, 'freeDiskGb: { gte: 700 }'))
    const volume = `createVolume(input: { offerId: "${machineId}", sizeGb: 300 }) { ... on CreateVolumeSuccess { volume { id } } }`
    const { data } = await app.graphql(renter, `mutation { ${volume} }`)
    expect(describeChanges(await takeChanges(all, 1))).toEqual([`UPDATED ${offerIds[0]}`])
    expect(describeChanges(await takeChanges(large, 1))).toEqual([`REMOVED ${offerIds[0]}`])
    const { id } = data.createVolume.volume
    await app.graphql(renter, `mutation { deleteVolume(input: { id: "${id}" }) { __typename } }`)
    expect(describeChanges(await takeChanges(large, 1))).toEqual([`ADDED ${offerIds[0]}`])
    await all.close()
    await large.close()
  })

  it('reports no offers outside its filter, and no offers that stay the same', async () => {
    const [mine, other] = [await newMachine(), await newMachine()]
    const stream = await watch(ofMachine(mine.machineId))
    await rent(other.offerIds[0] as string)
    await app.sql(`UPDATE machines SET city = city WHERE id = ${mine.machineId}`)
    await app.operations.machines.drain(mine.machineId)
    expect(describeChanges(await takeChanges(stream, 1))).toEqual([`REMOVED ${mine.offerIds[0]}`])
    await stream.close()
  })

  it('reports merged changes after a pause of its reader', async () => {
    const { machineId, offerIds } = await newMachine()
    const stream = await watch(ofMachine(machineId, 'availability: ANY'))
    const first = takeChanges(stream, 1)
    await app.sql(`UPDATE machines SET city = 'Kiruna' WHERE id = ${machineId}`)
    await first
    for (const city of ['Lund', 'Visby', 'Umeå'])
      await app.sql(`UPDATE machines SET city = '${city}' WHERE id = ${machineId}`)
    await app.operations.machines.drain(machineId)
    const rest = await takeChanges(stream, 1)
    while (rest.at(-1)?.offer?.['rentable']) rest.push(...(await takeChanges(stream, 1)))
    expect(rest.length).toBeLessThan(4)
    expect(rest.at(-1)).toMatchObject({ kind: 'UPDATED', offerId: offerIds[0] })
    await stream.close()
  })

  it('reports the removal of an offer whose listing ended together with the next change', async () => {
    const listedUntil = new Date(app.clock.now().getTime() + 3_600_000)
    const [short, long] = [await newMachine({ listedUntil }), await newMachine()]
    const stream = await watch(
      `filter: { or: [{ machineId: { eq: "${short.machineId}" } }, { machineId: { eq: "${long.machineId}" } }] }`,
    )
    app.clock.advance(3_600_000)
    await app.operations.machines.drain(long.machineId)
    const all = [`REMOVED ${short.offerIds[0]}`, `REMOVED ${long.offerIds[0]}`].toSorted()
    expect(describeChanges(await takeChanges(stream, 2))).toEqual(all)
    await stream.close()
  })
})

describe('many streams of offers', () => {
  it('search separately when they open, and share the reads of changes', async () => {
    const { machineId, offerIds } = await newMachine({ numGpus: 2 })
    const pricings = ['INTERRUPTIBLE', 'ON_DEMAND']
    const args = Array.from({ length: 20 }, (_, index) => {
      const terms = `pricing: { rentalKind: ${pricings[index % 2]}, diskGb: ${index} }`
      return `${ofMachine(machineId, `freeDiskGb: { gte: ${index} } numGpus: { lte: 1 }`)} ${terms}`
    })
    const streams: Subscription[] = []
    const isSearch = (text: string) => text.includes('WITH page AS')
    const opened = await captureQueries(async () => {
      for (const each of args) streams.push(await watch(each))
    })
    // Each stream searches once for its machines and once for their offers.
    expect(opened.filter(isSearch)).toHaveLength(40)
    const sent = await captureQueries(async () => {
      await app.sql(`UPDATE machines SET city = 'Boden' WHERE id = ${machineId}`)
      const changes = await Promise.all(streams.map(stream => takeChanges(stream, 2)))
      const expected = offerIds.slice(1).map(id => `UPDATED ${id}`)
      expect(changes.map(describeChanges)).toEqual(streams.map(() => expected.toSorted()))
    })
    const searches = sent.filter(isSearch).length
    expect(searches).toBeGreaterThan(0)
    expect(searches).toBeLessThan(4)
    for (const stream of streams) await stream.close()
  })
})

describe('32 wide streams of one key on a busy market', () => {
  it('do not slow the requests and streams of other accounts', async () => {
    const name = 'GPU of the busy'
    await listMachines(app.operations, Array(60).fill({ model: { name }, machine: { numGpus: 8 } }))
    const other = await app.newKey(null, someCredit)
    const { machineId, offerIds } = await newMachine()
    const narrow = await watch(ofMachine(machineId), other)
    const wide = Array.from(
      { length: 32 },
      (_, gb) => `filter: { gpuName: { eq: "${name}" }, freeDiskGb: { gte: ${gb} } }`,
    )
    const streams = await Promise.all(wide.map(args => watch(args)))
    let changeCount = 0
    const reading = streams.map(async stream => {
      while (await stream.next()) changeCount += 1
    })
    const waits: number[] = []
    for (let round = 0; round < 12; round += 1) {
      await app.sql(`UPDATE machines SET city = 'City ${round}'`)
      await sleep(250)
      const start = performance.now()
      expect((await app.rest(other, 'GET', '/users/current/')).status).toBe(200)
      waits.push(performance.now() - start)
    }
    const start = performance.now()
    await app.operations.machines.drain(machineId)
    const seen: string[] = []
    while (!seen.includes(`REMOVED ${offerIds[0]}`))
      seen.push(...(await takeChanges(narrow, 1)).map(({ kind, offerId }) => `${kind} ${offerId}`))
    const delayMs = performance.now() - start
    for (const stream of [narrow, ...streams]) await stream.close()
    await Promise.all(reading.map(each => each.catch(() => {})))
    expect(changeCount).toBeGreaterThan(100)
    const [median = 0, worst = 0] = [waits.toSorted((a, b) => a - b)[6], Math.max(...waits)]
    process.stdout.write(
      `a request waited ${Math.round(median)} ms, ${Math.round(worst)} at most; ${changeCount} changes reported\n`,
    )
    expect(median).toBeLessThan(500)
    expect(delayMs).toBeLessThan(5_000)
  })
})

describe('a stream of offers', () => {
  it('is refused with an invalid filter', async () => {
    const stream = await watch('filter: { or: [] }')
    expect((await stream.readToEnd())[0]?.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
  })

  it('is refused to a key without the permission', async () => {
    const stream = await watch('filter: {}', await app.newScopedKey(renter, { api: { instance_read: {} } }))
    expect(stream.status).toBe(403)
  })

  it('is refused if its filter matches too many offers, and leaves no stream open', async () => {
    const open = app.countStreams()
    const model = { name: 'GPU of the many' }
    const many = { model, machine: { numGpus: 16 } }
    // A machine of 16 GPUs has 31 blocks.
    const machines = Array.from({ length: Math.floor(maxWatched / 31) }, () => many)
    await listMachines(app.operations, machines)
    const query = 'filter: { gpuName: { eq: "GPU of the many" } }'
    const early = await watch(query)
    await listMachines(app.operations, [many])
    const seen = await early.readToEnd()
    expect(seen).toHaveLength((maxWatched % 31) + 1)
    expect(seen.at(-1)?.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
    const refused = await watch(query)
    const path = 'filter'
    expect((await refused.readToEnd())[0]?.errors).toMatchObject([
      { extensions: { code: 'BAD_USER_INPUT', issues: [{ path }] } },
    ])
    await expect.poll(() => app.countStreams()).toBe(open)
  })
})
