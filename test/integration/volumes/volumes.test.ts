import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { permissionCategories } from '../../../src/domain/accounts/permissions/permissions.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
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

const listQuery = '{ volumes { totalCount nodes { id } } }'

/** Rents an instance with a volume attached. */
async function rentWithVolume(): Promise<{ volumeId: number; instanceId: number; machineId: number }> {
  const instanceId = await rentals.rent(key)
  const { machine_id: machineId } = await rentals.read(key, instanceId)
  const volumeId = await volumes.make(key, machineId)
  await volumes.attach(volumeId, instanceId)
  return { volumeId, instanceId, machineId }
}

async function eventsOf(kind: string) {
  return await app.sql(`SELECT before, after, reason FROM events WHERE kind = '${kind}' ORDER BY id DESC LIMIT 1`)
}

describe('a volume that is renamed', () => {
  // biome-ignore lint/suspicious/noExplicitAny: the test knows the shape
  async function update(by: string, id: number | string, changes: object): Promise<any> {
    const query = `mutation ($input: UpdateVolumeInput!) { updateVolume(input: $input) {
      ... on UpdateVolumeSuccess { volume { id name sizeGb } } ... on Error { code message }
      ... on InvalidInputError { issues { path message } } ... on NotFoundError { missing: id } } }`
    const { data, errors } = await app.graphql(by, query, { input: { id: String(id), ...changes } })
    return errors?.[0]?.extensions ?? data.updateVolume.volume ?? data.updateVolume
  }

  it('has its new name in an instance, too, and one event for each change', async () => {
    const { volumeId, instanceId } = await rentWithVolume()
    const renamed = await update(key, volumeId, { name: 'models-2' })
    expect(renamed).toMatchObject({ id: `vol_${volumeId}`, name: 'models-2' })
    expect(await update(key, volumeId, {})).toEqual(renamed)
    expect(await update(key, volumeId, { name: 'models-2' })).toEqual(renamed)
    const query = `{ instance(id: "${instanceId}") { volumes { volume { name } } } }`
    expect((await app.graphql(key, query)).data.instance.volumes).toEqual([{ volume: { name: 'models-2' } }])
    const facts = { volumeId: String(volumeId) }
    expect(await app.sql(`SELECT before, after FROM events WHERE kind = 'VOLUME_UPDATED'`)).toEqual([
      { before: { ...facts, name: expect.any(String) }, after: { ...facts, name: 'models-2' } },
    ])
  })

  it('is refused null, an invalid name, a key without the permission, and unknown volumes', async () => {
    const volumeId = await volumes.make(key, await volumes.newMachine())
    const before = await app.sql(`SELECT * FROM volumes WHERE id = ${volumeId}`)
    const problems = { 'a b': 'at most 64', ['x'.repeat(65)]: 'at most 64' }
    for (const [name, problem] of Object.entries(problems)) {
      const message = `must have ${problem} characters: letters, digits, _ and -.`
      expect(await update(key, volumeId, { name })).toMatchObject({ issues: [{ path: 'name', message }] })
    }
    const message = 'cannot be removed. Leave it out to keep it.'
    expect(await update(key, volumeId, { name: null })).toMatchObject({ issues: [{ path: 'name', message }] })
    const api = { instance_read: {}, instance_write: { 'volumes.create': {}, 'volumes.delete': {} } }
    expect(await update(await app.newScopedKey(key, { api }), volumeId, { name: 'x' })).toMatchObject({
      ...{ code: 'FORBIDDEN', missing: ['UPDATE_VOLUME'] },
    })
    const stranger = await app.newKey()
    expect(await update(stranger, volumeId, { name: 'x' })).toMatchObject({ missing: `vol_${volumeId}` })
    expect(await update(key, 'vol_987654321987654321', { name: 'x' })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await app.sql(`SELECT * FROM volumes WHERE id = ${volumeId}`)).toEqual(before)
    expect(await volumes.remove(key, volumeId)).toMatchObject({ __typename: 'DeleteVolumeSuccess' })
    expect(await update(key, volumeId, { name: 'late' })).toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('a new volume', () => {
  it('takes its size from the free disk of its machine, at its storage price', async () => {
    const machineId = await volumes.newMachine({ diskMb: 100_000, diskPricePerGbMonthNanos: 360_000_000n })
    const answer = await volumes.create(key, { offerId: `vof_${machineId}`, sizeGb: 20.5, name: 'models-1' })
    expect(answer).toEqual({
      __typename: 'CreateVolumeSuccess',
      replayed: false,
      volume: {
        id: expect.stringMatching(/^vol_\d+$/),
        name: 'models-1',
        sizeGb: 20.5,
        // 20.5 GB at $0.36 for 720 hours.
        pricePerHour: '0.01025',
        createdAt: app.clock.now().toISOString(),
        machine: { id: `mch_${machineId}` },
        attachment: null,
      },
    })
    expect(await volumes.freeDiskMb(machineId)).toBe(79_500)
    const volumeId = answer.volume.id.slice('vol_'.length)
    const after = { volumeId, name: 'models-1', sizeMb: 20_500, machineId, diskNanos: '10250000' }
    expect(await eventsOf('VOLUME_CREATED')).toEqual([{ before: null, after, reason: 'USER_REQUEST' }])
  })

  it('has the name volume by default', async () => {
    const offerId = `vof_${await volumes.newMachine()}`
    for (const name of [undefined, null]) {
      expect(await volumes.create(key, { offerId, sizeGb: 1, name })).toMatchObject({ volume: { name: 'volume' } })
    }
  })

  it('keeps its price when the host changes the storage price', async () => {
    const machineId = await volumes.newMachine()
    const id = await volumes.make(key, machineId, 10)
    await app.sql(
      `UPDATE machines SET disk_price_per_gb_month_nanos = 2 * disk_price_per_gb_month_nanos WHERE id = ${machineId}`,
    )
    const { data } = await app.graphql(key, `{ volume(id: ${id}) { pricePerHour } }`)
    expect(data.volume).toEqual({ pricePerHour: '0.005' })
  })

  it('can take the whole free disk, which leaves nothing to rent on the machine', async () => {
    const machineId = await volumes.newMachine({ diskMb: 50_000 })
    const over = await volumes.create(key, { offerId: machineId, sizeGb: 50.001 })
    expect(over).toMatchObject({ code: 'INVALID_INPUT', issues: [{ path: 'sizeGb' }] })
    expect(over.message).toBe('sizeGb: must be at most 50: the machine has no more free.')
    expect(await volumes.freeDiskMb(machineId)).toBe(50_000)
    const rentable = async () => {
      const { body } = await app.rest(key, 'POST', '/bundles/', { machine_id: { eq: machineId } })
      return body.offers.length
    }
    expect(await rentable()).toBe(1)
    const id = await volumes.make(key, machineId, 50)
    expect(await rentable()).toBe(0)
    await volumes.remove(key, id)
    expect(await rentable()).toBe(1)
  })

  it('is refused with all its issues at once', async () => {
    const offerId = `vof_${await volumes.newMachine()}`
    const answer = await volumes.create(key, { offerId, sizeGb: 0.5, name: 'a b' })
    expect(answer).toMatchObject({ code: 'INVALID_INPUT', issues: [{ path: 'name' }, { path: 'sizeGb' }] })
    for (const sizeGb of [-1, 0, 0.999, 100_000.5]) {
      expect(await volumes.create(key, { offerId, sizeGb })).toMatchObject({ issues: [{ path: 'sizeGb' }] })
    }
    for (const name of ['é', '../x', 'n'.repeat(65), 'a.b', 'a\n']) {
      expect(await volumes.create(key, { offerId, sizeGb: 1, name })).toMatchObject({ issues: [{ path: 'name' }] })
    }
    expect(await volumes.create(key, { offerId: 'mch_1', sizeGb: 1 })).toMatchObject({ issues: [{ path: 'offerId' }] })
  })

  it('is refused if the storage is not on the market', async () => {
    const gone = { code: 'OFFER_UNAVAILABLE' }
    for (const id of [0, 987_654_321, 2 ** 31, '999999999999999999']) {
      expect(await volumes.create(key, { offerId: `vof_${id}`, sizeGb: 1 })).toMatchObject(gone)
    }
    const facts = { drained_at: 'now()', listed_until: `'${app.clock.now().toISOString()}'` }
    for (const [column, value] of Object.entries(facts)) {
      const machineId = await volumes.newMachine()
      await app.sql(`UPDATE machines SET ${column} = ${value} WHERE id = ${machineId}`)
      expect(await volumes.create(key, { offerId: machineId, sizeGb: 1 })).toMatchObject(gone)
      expect(await volumes.freeDiskMb(machineId)).toBe(900_000)
    }
  })

  it('is refused without credit', async () => {
    const offerId = await volumes.newMachine()
    const poor = await app.newKey()
    expect(await volumes.create(poor, { offerId, sizeGb: 1 })).toMatchObject({ code: 'INSUFFICIENT_CREDIT' })
  })

  it('is refused above the maximum price', async () => {
    const offerId = await volumes.newMachine({ diskPricePerGbMonthNanos: 360_000_000n })
    const dear = await volumes.create(key, { offerId, sizeGb: 10, maxPricePerHour: '0.004999999' })
    expect(dear).toMatchObject({ code: 'PRICE_CHANGED', currentPricePerHour: '0.005' })
    const fair = await volumes.create(key, { offerId, sizeGb: 10, maxPricePerHour: '0.005' })
    expect(fair).toMatchObject({ volume: { pricePerHour: '0.005' } })
  })
})

describe('concurrent requests', () => {
  it('create exactly the volumes that fit on the disk', async () => {
    const machineId = await volumes.newMachine({ diskMb: 95_000 })
    const input = { offerId: machineId, sizeGb: 10 }
    const answers = await Promise.all(Array.from({ length: 20 }, () => volumes.create(key, input)))
    const kinds = answers.map(answer => answer.code ?? answer.__typename).toSorted()
    expect(kinds).toEqual([...Array(9).fill('CreateVolumeSuccess'), ...Array(11).fill('INVALID_INPUT')])
    expect(await volumes.freeDiskMb(machineId)).toBe(5_000)
  })

  it('create one volume with one idempotency key', async () => {
    const machineId = await volumes.newMachine()
    const input = { offerId: machineId, sizeGb: 10, idempotencyKey: 'once' }
    const answers = await Promise.all(Array.from({ length: 20 }, () => volumes.create(key, input)))
    const succeeded = answers.filter(({ code }) => code !== 'IDEMPOTENCY_IN_PROGRESS')
    expect(succeeded.length).toBeGreaterThan(0)
    expect(new Set(succeeded.map(({ volume }) => volume.id)).size).toBe(1)
    expect(succeeded.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(await volumes.freeDiskMb(machineId)).toBe(890_000)
  })

  it('return the disk of a deleted volume once', async () => {
    const machineId = await volumes.newMachine()
    const id = await volumes.make(key, machineId)
    const answers = await Promise.all(Array.from({ length: 10 }, () => volumes.remove(key, id)))
    const codes = answers.map(({ code }) => code ?? 'deleted').toSorted()
    expect(codes).toEqual([...Array(9).fill('NOT_FOUND'), 'deleted'])
    expect(await volumes.freeDiskMb(machineId)).toBe(900_000)
  })
})

describe('a repeated request', () => {
  it('gets the volume as it is now, and is refused once the volume is deleted', async () => {
    const input = { offerId: await volumes.newMachine(), sizeGb: 10, idempotencyKey: 'again' }
    const first = await volumes.create(key, input)
    expect(await volumes.create(key, input)).toEqual({ ...first, replayed: true })
    await volumes.remove(key, first.volume.id)
    expect(await volumes.create(key, input)).toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
      message: `Volume ${first.volume.id} no longer exists. To repeat the request, send a new idempotency key.`,
    })
  })

  it('is refused if it differs from the first request', async () => {
    const input = { offerId: await volumes.newMachine(), sizeGb: 10, idempotencyKey: 'other' }
    await volumes.create(key, input)
    for (const other of [{ sizeGb: 11 }, { name: 'x' }, { maxPricePerHour: '1' }]) {
      const answer = await volumes.create(key, { ...input, ...other })
      expect(answer).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
    }
  })
})

describe('a deletion', () => {
  it('frees the disk on the machine, and the volume is no longer found', async () => {
    const machineId = await volumes.newMachine()
    const freePorts = () => app.sql(`SELECT free_ports FROM machines WHERE id = ${machineId}`)
    const ports = await freePorts()
    const id = await volumes.make(key, machineId)
    expect(await volumes.remove(key, id)).toEqual({ __typename: 'DeleteVolumeSuccess', deletedId: `vol_${id}` })
    expect(await volumes.freeDiskMb(machineId)).toBe(900_000)
    expect(await freePorts()).toEqual(ports)
    const before = { volumeId: String(id), name: 'volume', sizeMb: 10_000, machineId }
    expect(await eventsOf('VOLUME_DELETED')).toEqual([{ before, after: null, reason: 'USER_REQUEST' }])
    expect(await volumes.remove(key, id)).toMatchObject({ code: 'NOT_FOUND', message: `Volume vol_${id} not found.` })
    const { data } = await app.graphql(key, `{ volume(id: ${id}) { id } node(id: "vol_${id}") { id } }`)
    expect(data).toEqual({ volume: null, node: null })
    expect((await app.graphql(key, listQuery)).data.volumes).toEqual({ totalCount: 0, nodes: [] })
  })

  it('is refused until the instance with the volume is destroyed', async () => {
    const { volumeId, instanceId, machineId } = await rentWithVolume()
    await rentals.converge()
    const refused = {
      __typename: 'VolumeUnavailableError',
      code: 'VOLUME_UNAVAILABLE',
      retry: 'AFTER_FIX',
      volume: { id: `vol_${volumeId}` },
      attachedTo: { id: `ins_${instanceId}` },
    }
    const message = `Volume vol_${volumeId} is attached to instance ins_${instanceId}. Destroy the instance first.`
    expect(await volumes.remove(key, volumeId)).toEqual({ ...refused, message })

    await app.rest(key, 'PUT', `/instances/${instanceId}/`, { state: 'stopped' })
    await rentals.converge()
    expect(await volumes.remove(key, volumeId)).toEqual({ ...refused, message })

    await app.rest(key, 'DELETE', `/instances/${instanceId}/`)
    await rentals.converge()
    // The disk of the instance is free again, but the disk of the volume is not.
    expect(await volumes.freeDiskMb(machineId)).toBe(890_000)
    expect(await volumes.remove(key, volumeId)).toMatchObject({ __typename: 'DeleteVolumeSuccess' })
    expect(await volumes.freeDiskMb(machineId)).toBe(900_000)
  })

  it('deletes a volume whose instance is destroyed, even while its container is still there', async () => {
    const { volumeId, instanceId, machineId } = await rentWithVolume()
    await rentals.converge()
    const before = await volumes.freeDiskMb(machineId)
    await app.rest(key, 'DELETE', `/instances/${instanceId}/`)
    expect(await volumes.remove(key, volumeId)).toMatchObject({ __typename: 'DeleteVolumeSuccess' })
    expect(await app.sql(`SELECT rate_nanos FROM meters WHERE volume_id = ${volumeId}`)).toEqual([{ rate_nanos: '0' }])
    // The container still has the data, so nobody else may have the disk.
    expect(await volumes.freeDiskMb(machineId)).toBe(before)
    await rentals.converge()
    expect(await volumes.freeDiskMb(machineId)).toBe(900_000)
  })

  it('hides the volume and the instance from a key that may not read them', async () => {
    const { volumeId } = await rentWithVolume()
    const writer = await app.newScopedKey(key, { api: { instance_write: {} } })
    const answer = await volumes.remove(writer, volumeId)
    expect(answer).toMatchObject({ code: 'VOLUME_UNAVAILABLE', volume: null, attachedTo: null })
  })
})

describe('a query', () => {
  it('returns a volume with its instance, and an instance with its volumes', async () => {
    const { volumeId, instanceId } = await rentWithVolume()
    const query = `{
      volume(id: "vol_${volumeId}") { attachment { mountPath instance { id } volume { id } } }
      instance(id: "${instanceId}") { volumes { mountPath volume { id } instance { id } } }
    }`
    const attachment = {
      mountPath: '/data',
      volume: { id: `vol_${volumeId}` },
      instance: { id: `ins_${instanceId}` },
    }
    const { data } = await app.graphql(key, query)
    expect(data).toEqual({ volume: { attachment }, instance: { volumes: [attachment] } })
    await app.rest(key, 'DELETE', `/instances/${instanceId}/`)
    expect((await app.graphql(key, query)).data).toEqual({ volume: { attachment }, instance: { volumes: [] } })
    await rentals.converge()
    expect((await app.graphql(key, query)).data).toEqual({ volume: { attachment: null }, instance: { volumes: [] } })
  })

  it('returns nothing of another account', async () => {
    const id = await volumes.make(key, await volumes.newMachine())
    const stranger = await app.newKey(null, someCredit)
    const query = `{ volume(id: ${id}) { id } node(id: "vol_${id}") { id } volumes { totalCount nodes { id } } }`
    const { data } = await app.graphql(stranger, query)
    expect(data).toEqual({ volume: null, node: null, volumes: { totalCount: 0, nodes: [] } })
    expect((await app.graphql(key, query)).data.node).toEqual({ id: `vol_${id}` })
  })

  it('returns pages, forward and backward, newest first', async () => {
    const machineId = await volumes.newMachine()
    const ids: string[] = []
    for (let count = 1; count <= 5; count += 1) ids.unshift(`vol_${await volumes.make(key, machineId, 1)}`)
    const page = async (args: string) => {
      const query = `{ volumes(${args}) { totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } nodes { id } } }`
      const { nodes, pageInfo } = (await app.graphql(key, query)).data.volumes
      return { ids: nodes.map(({ id }: { id: string }) => id), ...pageInfo }
    }
    const first = await page('first: 2')
    expect(first).toMatchObject({ ids: ids.slice(0, 2), hasNextPage: true, hasPreviousPage: false })
    const second = await page(`first: 2, after: "${first.endCursor}"`)
    expect(second).toMatchObject({ ids: ids.slice(2, 4), hasNextPage: true, hasPreviousPage: true })
    expect(await page(`first: 2, after: "${second.endCursor}"`)).toMatchObject({
      ids: ids.slice(4),
      hasNextPage: false,
    })
    expect(await page(`last: 2, before: "${second.startCursor}"`)).toMatchObject({ ids: ids.slice(0, 2) })
    const { errors } = await app.graphql(key, '{ volumes(after: "bm8") { nodes { id } } }')
    expect(errors).toMatchObject([{ extensions: { code: 'INVALID_CURSOR' } }])
  })

  it('runs as many statements for 50 volumes as for one', async () => {
    const few = await app.newKey(null, someCredit)
    const fill = async (owner: string, count: number) => {
      for (let index = 0; index < count; index += 1) {
        const instanceId = await rentals.rent(owner, { target_state: 'stopped' })
        const { machine_id } = await rentals.read(owner, instanceId)
        await volumes.attach(await volumes.make(owner, machine_id, 1), instanceId)
      }
    }
    await fill(few, 1)
    await fill(key, 50)
    const fields = 'id machine { id gpu { id } } attachment { mountPath instance { id volumes { volume { name } } } }'
    const queries = {
      volumes: `{ volumes(first: 50) { totalCount nodes { ${fields} } } }`,
      instances:
        '{ instances(first: 50) { nodes { id volumes { mountPath volume { id attachment { mountPath } } } } } }',
    }
    for (const [name, query] of Object.entries(queries)) {
      const count = async (owner: string, rows: number) => {
        const statements = await captureQueries(async () => {
          const { data, errors } = await app.graphql(owner, query)
          expect(errors).toBeUndefined()
          expect(data[name].nodes).toHaveLength(rows)
        })
        return statements.length
      }
      for (const owner of [few, key]) await app.graphql(owner, '{ viewer { account { id } } }')
      expect([name, await count(key, 50)]).toEqual([name, await count(few, 1)])
    }
  })
})

describe('a scoped key', () => {
  it.each([
    ['instance_read', 'VOLUMES', '{ volumes { nodes { id } } }'],
    ['instance_read', 'VOLUMES', '{ volumes { totalCount } }'],
    ['instance_read', 'VOLUME', '{ node(id: "vol_1") { id } }'],
    ['misc', 'VOLUME_OFFERS', '{ volumeOffers { totalCount } }'],
    ['misc', 'VOLUME_OFFERS', '{ node(id: "vof_1") { id } }'],
  ])('is refused without %s, naming %s: %s', async (category, operation, query) => {
    const others = permissionCategories.filter(name => name !== category)
    const scoped = await app.newScopedKey(key, { api: Object.fromEntries(others.map(name => [name, {}])) })
    const { errors } = await app.graphql(scoped, query)
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN', missing: [operation] } }])
  })

  it('sees of the volumes of an instance only those that it may read', async () => {
    const { instanceId, volumeId } = await rentWithVolume()
    const { machine_id } = await rentals.read(key, instanceId)
    await volumes.attach(await volumes.make(key, machine_id, 1), instanceId, '/other')
    const constraints = { id: { eq: volumeId } }
    const ofOne = { 'volumes.get': { constraints }, 'instances.list': {}, 'instances.get': {} }
    const fields = 'volumes { mountPath volume { id attachment { volume { name } } } }'
    const paths = {
      [`{ instances(filter: { ids: ["${instanceId}"] }) { nodes { ${fields} } } }`]: ['instances', 'nodes', 0],
      [`{ instance(id: "${instanceId}") { ${fields} } }`]: ['instance'],
      [`{ node(id: "ins_${instanceId}") { ... on Instance { ${fields} } } }`]: ['node'],
    }
    const [seen, hidden] = [{ id: `vol_${volumeId}`, attachment: { volume: { name: expect.any(String) } } }, null]
    for (const [query, path] of Object.entries(paths)) {
      const bound = await app.newScopedKey(key, { api: { instance_read: ofOne } })
      const { data, errors } = await app.graphql(bound, query)
      const instance = path.reduce((value, step) => value[step], data)
      expect(instance.volumes.map(({ volume }: { volume: unknown }) => volume)).toEqual([seen, hidden])
      const refusal = { code: 'FORBIDDEN', missing: ['VOLUME'] }
      expect(errors).toMatchObject([{ path: [...path, 'volumes', 1, 'volume'], extensions: refusal }])
      const { 'volumes.get': _, ...ofNone } = ofOne
      const without = await app.graphql(await app.newScopedKey(key, { api: { instance_read: ofNone } }), query)
      expect(without.errors).toMatchObject([0, 1].map(() => ({ extensions: refusal })))
    }
  })

  it('can be limited to volumes of a maximum size', async () => {
    const offerId = await volumes.newMachine()
    const constraints = { sizeGb: { lte: 10 } }
    const bound = await app.newScopedKey(key, { api: { instance_write: { 'volumes.create': { constraints } } } })
    expect(await volumes.create(bound, { offerId, sizeGb: 10 })).toMatchObject({ __typename: 'CreateVolumeSuccess' })
    await expect(volumes.create(bound, { offerId, sizeGb: 10.1 })).rejects.toThrow('FORBIDDEN')
  })
})

describe('a rental', () => {
  const rent = async (offerId: number, mounts: object[]) => {
    const { data } = await app.graphql(
      key,
      `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) {
        __typename ... on Error { code message } ... on InvalidInputError { issues { path message } } } }`,
      { input: { offerId: String(offerId), spec: { source: { image: 'ubuntu' }, volumes: mounts } } },
    )
    return data.rentInstance
  }

  it('is refused with the input paths of invalid volumes', async () => {
    const answer = await rent(await rentals.newOffer(), [
      { source: { create: { sizeGb: 0, name: '?' } }, mountPath: 'x' },
      { source: { volumeId: 'ins_1' } },
      { source: { volumeId: '7' }, mountPath: '/' },
      { source: { volumeId: 'vol_0' }, mountPath: '/ok' },
    ])
    expect(answer.issues.map(({ path }: { path: string }) => path)).toEqual([
      'spec.volumes.0.source.create.name',
      'spec.volumes.0.source.create.sizeGb',
      'spec.volumes.0.mountPath',
      'spec.volumes.1.source.volumeId',
      'spec.volumes.2.mountPath',
      'spec.volumes.3.source.volumeId',
    ])
  })

  it('is refused with two volumes at one path', async () => {
    const create = { sizeGb: 1 }
    const answer = await rent(await rentals.newOffer(), [{ source: { create } }, { source: { create } }])
    const message = 'must be mounted on different paths, but two are on /data.'
    expect(answer.issues).toEqual([{ path: 'spec.volumes', message }])
  })

  it.each([
    [{ create_new: true, size: 0.5, name: 'a b', mount_path: 'x' }, ['name', 'size', 'mount_path']],
    [{ create_new: true, size: 'big' }, ['size']],
    [{ create_new: true, size: 200_000 }, ['size']],
    [{ volume_id: 0 }, ['']],
    [{ mount_path: '/x' }, ['volume_id']],
  ])('is refused over REST with all issues of %o', async (volume_info, places) => {
    const { status, body } = await rentals.tryRent(key, { image: 'ubuntu', volume_info })
    expect([status, body.error]).toEqual([400, 'invalid_args'])
    for (const place of places) expect(body.msg).toContain(`volume_info${place && `.${place}`}: `)
  })
})
