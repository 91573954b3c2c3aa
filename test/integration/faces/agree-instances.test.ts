// The same request from the same actor leaves the same state behind, or is refused alike, over REST and GraphQL.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { creditSql } from '../../support/billing/credit-sql.ts'
import { limitsOf } from '../../support/billing/limits.ts'
import { bareIds, type Faces, facesOf, graphqlCodeOf } from '../../support/faces/faces.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { modeSelection, readModes } from '../../support/launch/modes.ts'

let app: TestApp
let rentals: Rentals
let faces: Faces
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  faces = facesOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

/** Two equal instances, one for each face. */
async function rentTwins(status: string, by = key, body = {}): Promise<[number, number]> {
  if (status !== 'destroyed')
    return [await rentals.rentToStatus(by, status, body), await rentals.rentToStatus(by, status, body)]
  const ids: [number, number] = [await rentals.rent(by, body), await rentals.rent(by, body)]
  for (const id of ids) await app.rest(by, 'DELETE', `/instances/${id}/`)
  return ids
}

const updates: [status: string, body: object, input: object][] = [
  ['running', { state: 'stopped' }, { targetState: 'STOPPED' }],
  ['running', { state: 'running' }, { targetState: 'RUNNING' }],
  ['stopped', { state: 'running' }, { targetState: 'RUNNING' }],
  ['stopped', { state: 'stopped' }, { targetState: 'STOPPED' }],
  ['created', { state: 'running' }, { targetState: 'RUNNING' }],
  ['running', { label: 'mine' }, { label: 'mine' }],
  ['stopped', { state: 'running', label: 'mine' }, { targetState: 'RUNNING', label: 'mine' }],
  ['running', { state: null, label: 'mine' }, { targetState: null, label: 'mine' }],
  ['running', { label: 'x'.repeat(257) }, { label: 'x'.repeat(257) }],
  ['running', { label: 'a\0' }, { label: 'a\0' }],
  ['running', {}, {}],
  ['exited', { state: 'running' }, { targetState: 'RUNNING' }],
  ['exited', { state: 'running', label: 'mine' }, { targetState: 'RUNNING', label: 'mine' }],
  ['exited', { state: 'stopped' }, { targetState: 'STOPPED' }],
  ['offline', { label: 'mine' }, { label: 'mine' }],
  ['unknown', { state: 'running' }, { targetState: 'RUNNING' }],
  ['destroyed', { state: 'running' }, { targetState: 'RUNNING' }],
  ['destroyed', { label: 'mine' }, { label: 'mine' }],
]

describe('an update over REST and GraphQL', () => {
  it.each(updates)('has the same result or refusal for an instance that is %s: %j', async (status, body, input) => {
    const [one, other] = await rentTwins(status)
    const rest = await app.rest(key, 'PUT', `/instances/${one}/`, body)
    const graphql = await faces.update(key, { id: String(other), ...input })
    expect(graphql.code).toBe(graphqlCodeOf(rest.body))
    expect(rest.status === 200).toBe(graphql.code === undefined)
    expect(await faces.readInstance(one)).toEqual(await faces.readInstance(other))
    await rentals.converge()
    expect(await faces.readInstance(one)).toEqual(await faces.readInstance(other))
  })

  it('is a success in GraphQL and queued over REST while the instance waits for its GPUs', async () => {
    const [one, other] = await rentTwins('stopped')
    for (const id of [one, other]) {
      const { machine_id } = await rentals.read(key, id)
      const { body } = await app.rest(key, 'POST', '/bundles/', { machine_id: { eq: machine_id } })
      await app.rest(key, 'PUT', `/asks/${body.offers[0].id}/`, { image: 'ubuntu' })
    }
    const rest = await app.rest(key, 'PUT', `/instances/${one}/`, { state: 'running' })
    expect([rest.status, rest.body]).toMatchObject([200, { success: false, error: 'resources_unavailable' }])
    const graphql = await faces.update(key, { id: String(other), targetState: 'RUNNING' })
    expect(graphql.code).toBeUndefined()
    await rentals.converge()
    expect(await faces.readInstance(one)).toEqual(await faces.readInstance(other))
    expect(await faces.readInstance(one)).toMatchObject({ status: 'scheduling', reason_code: 'WAITING_FOR_GPUS' })
  })

  it.each(['an unknown id', 'no credit', 'a limit', 'no permission', 'no key'])(
    'is refused alike with %s',
    async name => {
      const poor = await app.newKey(null, someCredit)
      const [one, other] = name === 'an unknown id' ? [987_654, 987_654] : await rentTwins('created', poor)
      await app.sql(
        creditSql(0n, `id IN (SELECT account_id FROM instances WHERE id = ${one}) AND ${name === 'no credit'}`),
      )
      if (name === 'a limit') await limitsOf(app).set(poor, { window: 'HOUR', amount: '0.1' })
      const reader = await app.newScopedKey(poor, { api: { instance_read: {} } })
      const actor = { 'no permission': reader, 'no key': undefined }[name] ?? (name === 'no key' ? undefined : poor)
      const rest = await app.rest(actor, 'PUT', `/instances/${one}/`, { state: 'running' })
      const graphql = await faces.update(actor, { id: String(other), targetState: 'RUNNING' })
      expect([graphql.code, bareIds(graphql.message)]).toEqual([graphqlCodeOf(rest.body), rest.body.msg])
      expect(rest.status).not.toBe(200)
      expect(await faces.readInstance(one)).toEqual(await faces.readInstance(other))
    },
  )
})

describe('a bulk update over REST and GraphQL', () => {
  const statuses = ['running', 'stopped', 'created', 'exited', 'unknown', 'destroyed']

  it.each([
    [
      { state: 'running' },
      { targetState: 'RUNNING' },
      ['UNCHANGED', 'APPLIED', 'APPLIED', 'FAILED', 'FAILED', 'FAILED'],
    ],
    [
      { state: 'stopped' },
      { targetState: 'STOPPED' },
      ['APPLIED', 'UNCHANGED', 'UNCHANGED', 'UNCHANGED', 'UNCHANGED', 'FAILED'],
    ],
    [{ label: 'batch' }, { label: 'batch' }, ['APPLIED', 'APPLIED', 'APPLIED', 'APPLIED', 'APPLIED', 'FAILED']],
  ])('leaves the same state behind for each item: %j', async (body, input, outcomes) => {
    const pairs: [number, number][] = []
    for (const status of statuses) pairs.push(await rentTwins(status))
    const [ones, others] = [pairs.map(([one]) => one), pairs.map(([, other]) => other)]
    const rest = await app.rest(key, 'PUT', '/instances/', { ids: [...ones, 987_654], ...body })
    const ids = [...others, 987_654].map(String)
    const graphql = await faces.update(key, { ids, ...input })
    expect(rest.body).toEqual({ success: graphql.succeededCount > 0 })
    expect(graphql.items.map((item: { outcome: string }) => item.outcome)).toEqual([...outcomes, 'FAILED'])
    for (const [one, other] of pairs) expect(await faces.readInstance(one)).toEqual(await faces.readInstance(other))
    await rentals.converge()
    for (const [one, other] of pairs) expect(await faces.readInstance(one)).toEqual(await faces.readInstance(other))
  })

  it('answers 404 over REST and NOT_FOUND for each item in GraphQL when no instance is found', async () => {
    const rest = await app.rest(key, 'PUT', '/instances/', { ids: [987_654], state: 'stopped' })
    const graphql = await faces.update(key, { ids: ['987654'], targetState: 'STOPPED' })
    expect([rest.status, graphql.items]).toMatchObject([404, [{ outcome: 'FAILED', error: { code: 'NOT_FOUND' } }]])
  })

  it('names an invalid id by its position in the list', async () => {
    const graphql = await faces.update(key, { ids: ['1', 'off_2'], targetState: 'STOPPED' })
    expect([graphql.code, graphql.issues[0].path]).toEqual(['INVALID_INPUT', 'target.ids.1'])
    const single = await faces.update(key, { id: 'off_2', targetState: 'STOPPED' })
    expect([single.code, single.issues[0].path]).toEqual(['INVALID_INPUT', 'id'])
  })

  it.each([
    ['no ids', { ids: [], state: 'stopped' }, { ids: [], targetState: 'STOPPED' }],
    ['neither ids nor changes', { ids: [] }, { ids: [] }],
    ['no changes', { ids: [1] }, { ids: ['1'] }],
    [
      '1,001 ids',
      { ids: Array(1_001).fill(1), state: 'stopped' },
      { ids: Array(1_001).fill('1'), targetState: 'STOPPED' },
    ],
    ['a label that is too long', { ids: [1], label: 'x'.repeat(257) }, { ids: ['1'], label: 'x'.repeat(257) }],
  ])('is refused alike with %s', async (_name, body, input) => {
    const rest = await app.rest(key, 'PUT', '/instances/', body)
    const graphql = await faces.update(key, input)
    expect([rest.status, graphql.code]).toEqual([400, graphqlCodeOf(rest.body)])
  })
})

describe('destroying an instance', () => {
  it.each(['running', 'stopped', 'created', 'exited', 'offline'])(
    'leaves the same state behind when it is %s',
    async status => {
      const [one, other] = await rentTwins(status)
      expect((await app.rest(key, 'DELETE', `/instances/${one}/`)).body).toEqual({ success: true })
      const graphql = await faces.mutate(key, 'destroyInstances', { target: { ids: [String(other)] } })
      expect(graphql.items).toMatchObject([{ outcome: 'APPLIED' }])
      expect(await faces.readInstance(one)).toEqual(await faces.readInstance(other))
      await rentals.converge()
      expect(await faces.readInstance(one)).toEqual(await faces.readInstance(other))
      expect(await faces.readInstance(one)).toMatchObject({ ports: null, gpus: '0', destroyed_at: expect.any(Date) })
    },
  )

  it('answers 404 over REST and UNCHANGED in GraphQL the second time, and changes nothing', async () => {
    const [one, other] = await rentTwins('destroyed')
    const before = await faces.readInstance(one)
    expect((await app.rest(key, 'DELETE', `/instances/${one}/`)).body.error).toBe('no_such_instance')
    const graphql = await faces.mutate(key, 'destroyInstances', { target: { ids: [String(other)] } })
    expect(graphql.items).toMatchObject([{ outcome: 'UNCHANGED' }])
    expect([await faces.readInstance(one), await faces.readInstance(other)]).toEqual([before, before])
  })
})

describe('destroying several instances over REST', () => {
  it('does the same as destroyInstances for each item', async () => {
    const pairs: [number, number][] = []
    for (const status of ['running', 'stopped', 'exited', 'destroyed']) pairs.push(await rentTwins(status))
    const [ones, others] = [pairs.map(([one]) => one), pairs.map(([, other]) => other)]
    const rest = await app.rest(key, 'DELETE', '/instances/', { instance_ids: [...ones, 987_654] })
    const graphql = await faces.mutate(key, 'destroyInstances', { target: { ids: [...others, 987_654].map(String) } })
    expect([rest.body, graphql.succeededCount]).toEqual([{ success: true }, 4])
    await rentals.converge()
    for (const [one, other] of pairs) expect(await faces.readInstance(one)).toEqual(await faces.readInstance(other))
  })
})

describe('a restart over REST and GraphQL', () => {
  const statuses = ['running', 'stopped', 'created', 'exited', 'unknown', 'destroyed']
  const kinds = statuses.flatMap(status => [['reboot', status] as const, ['recycle', status] as const])

  it.each(kinds)('has the same result or refusal: %s of an instance that is %s', async (kind, status) => {
    const [one, other] = await rentTwins(status)
    const rest = await app.rest(key, 'PUT', `/instances/${kind}/${one}/`, {})
    const graphql = await faces.mutate(key, `${kind}Instance`, { id: String(other) })
    // REST clients read `success`: an action that is impossible now is not a failed request.
    expect(graphql.code).toBe(rest.body.error === 'invalid_id' ? 'INVALID_STATE' : graphqlCodeOf(rest.body))
    expect(rest.body.success).toBe(graphql.code === undefined)
    expect(await faces.readInstance(one)).toEqual(await faces.readInstance(other))
    await rentals.converge()
    expect(await faces.readInstance(one)).toEqual(await faces.readInstance(other))
  })
})

describe('a bid over REST and GraphQL', () => {
  it.each([
    ['0.4', 'running'],
    ['0.1', 'running'],
    ['129', 'running'],
    ['0.4', 'stopped'],
    ['0.4', 'exited'],
    ['0.4', 'destroyed'],
  ])('has the same result or refusal: %s dollars for an instance that is %s', async (bid, status) => {
    const [one, other] = await rentTwins(status, key, { price: 0.3 })
    const rest = await app.rest(key, 'PUT', `/instances/bid_price/${one}/`, { client_id: 'me', price: Number(bid) })
    const graphql = await faces.mutate(key, 'updateInstanceBid', { id: String(other), bidPerHour: bid })
    expect(graphql.code).toBe(graphqlCodeOf(rest.body))
    expect(await faces.readInstance(one)).toEqual(await faces.readInstance(other))
  })
})

describe('reading instances', () => {
  const fields = `id label status targetState pricePerHour diskPricePerHour numGpus gpuName diskGb rentalKind
    launch { image ${modeSelection} env { name value } onStart } connection { host sshPort ports { containerPort hostPort } }`
  const statuses = ['created', 'running', 'stopped', 'exited', 'unknown', 'offline']

  it('shows the same over REST and GraphQL, one by one and in a list', async () => {
    const reader = await app.newKey(null, someCredit)
    const ids: number[] = []
    const body = { label: 'x', onstart: './run', env: { A: '1' }, runtype: 'ssh_direct', disk: 10 }
    for (const status of statuses) ids.push(await rentals.rentToStatus(reader, status, body))
    const { body: list } = await app.rest(reader, 'GET', '/instances/')
    const { data } = await app.graphql(reader, `{ instances { totalCount nodes { ${fields} } } }`)
    expect(list.instances_found).toBe(data.instances.totalCount)
    for (const [index, row] of list.instances.entries()) {
      expect(await rentals.read(reader, row.id)).toEqual(row)
      const { data: one } = await app.graphql(reader, `{ instance(id: ${row.id}) { ${fields} } }`)
      const node = data.instances.nodes[index]
      expect(one.instance).toEqual(node)
      expect(node).toMatchObject({
        id: `ins_${row.id}`,
        label: row.label,
        status: row.actual_status.toUpperCase(),
        targetState: row.intended_status.toUpperCase(),
        pricePerHour: String(row.dph_total),
        numGpus: row.num_gpus,
        gpuName: row.gpu_name,
        diskGb: row.disk_space,
        rentalKind: row.is_bid ? 'INTERRUPTIBLE' : 'ON_DEMAND',
        launch: {
          image: row.image_uuid,
          mode: readModes[row.image_runtype as keyof typeof readModes],
          onStart: row.onstart,
        },
        connection: row.ssh_host && { host: row.ssh_host, sshPort: row.ssh_port },
      })
    }
    expect(list.instances.map((row: { id: number }) => row.id)).toEqual(ids.toReversed())
  })

  it('answers 404 over REST and null in GraphQL for an unknown id', async () => {
    expect((await app.rest(key, 'GET', '/instances/987654/')).status).toBe(404)
    expect((await app.graphql(key, '{ instance(id: 987654) { id } }')).data).toEqual({ instance: null })
  })
})
