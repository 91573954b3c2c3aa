// Subscriptions over Server-Sent Events.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { changesOnly, type SseOptions, type Subscription, subscribeSse } from '../../support/streams.ts'

let app: TestApp
let rentals: Rentals
let renter: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  renter = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const subscribe = async (query: string, { key = renter, ...options }: SseOptions & { key?: string } = {}) =>
  changesOnly(await subscribeSse(app.fetch, key, query, options))
const watchQuery = (id: number, fields: string) =>
  `subscription { instanceChanges(filter: { ids: ["${id}"] }) { ... on InstanceChange { instance { ${fields} } } } }`
const setLabel = (id: number, label: string) => app.rest(renter, 'PUT', `/instances/${id}/`, { label })
const allClosed = () => expect.poll(() => app.countStreams(), { timeout: 5_000 }).toBe(0)

/** The states of an instance until a condition holds. */
async function until(stream: Subscription, holds: (instance: Record<string, unknown>) => boolean) {
  const seen: Record<string, unknown>[] = []
  for (let result = await stream.next(); result; result = await stream.next()) {
    expect(result.errors).toBeUndefined()
    seen.push(result.data.instanceChanges.instance)
    if (holds(result.data.instanceChanges.instance)) return seen
  }
  throw new Error(`The stream ended with ${JSON.stringify(seen.at(-1))}.`)
}

describe('a watched instance', () => {
  it('is streamed on its way from renting to running', async () => {
    const offerId = await rentals.newOffer()
    const { data } = await app.graphql(
      renter,
      `mutation { rentInstance(input: { offerId: "${offerId}", spec: { source: { image: "ubuntu" } } }) {
        ... on RentInstanceSuccess { instance { id } } } }`,
    )
    const { id } = data.rentInstance.instance
    const stream = await subscribe(watchQuery(id, 'status'))
    const seen = [(await stream.next())?.data.instanceChanges.instance]
    for (let turn = 1; seen.at(-1)?.status !== 'RUNNING' && turn < 20; turn += 1) {
      await app.runUntilIdle()
      const { data } = await app.graphql(renter, `{ instance(id: "${id}") { status } }`)
      if (data.instance.status !== seen.at(-1)?.status)
        seen.push(...(await until(stream, ({ status }) => status === data.instance.status)))
      app.clock.advance(10_000)
    }
    const statuses = seen.map(({ status }) => status).filter((status, index, all) => status !== all[index - 1])
    expect(statuses).toEqual(['CREATED', 'LOADING', 'RUNNING'])
    await stream.close()
    await allClosed()
  })

  it('is streamed after each event, with all its fields read again', async () => {
    const id = await rentals.rent(renter, { label: 'first' })
    const stream = await subscribe(watchQuery(id, 'label sshKeys { name }'))
    expect(await stream.next()).toEqual({ data: { instanceChanges: { instance: { label: 'first', sshKeys: [] } } } })
    const { data } = await app.graphql(
      renter,
      `mutation { createSshKey(input: { publicKey: "${aPublicKey('watched')}", name: "mine", instanceIds: ["${id}"] }) {
        ... on CreateSshKeySuccess { sshKey { name } } ... on Error { message } } }`,
    )
    expect(data).toEqual({ createSshKey: { sshKey: { name: 'mine' } } })
    await setLabel(id, 'second')
    const sshKeys = [{ name: 'mine' }]
    expect((await until(stream, ({ label }) => label === 'second')).at(-1)).toEqual({ label: 'second', sshKeys })
    await stream.close()
  })

  it('is streamed on its way to destroyed, and by id even after that', async () => {
    const id = await rentals.rentToStatus(renter, 'running')
    const stream = await subscribe(watchQuery(id, 'status destroyedAt'))
    const living = await subscribe(
      'subscription { instanceChanges { ... on InstanceChange { kind instanceId instance { status } } } }',
    )
    const running = { data: { instanceChanges: { instance: { status: 'RUNNING', destroyedAt: null } } } }
    expect(await stream.next()).toEqual(running)
    await app.rest(renter, 'DELETE', `/instances/${id}/`)
    const seen = await until(stream, ({ destroyedAt }) => destroyedAt !== null)
    expect(seen.at(-1)).toMatchObject({ status: 'DESTROYED' })
    const instanceChanges = { kind: 'REMOVED', instanceId: `ins_${id}`, instance: { status: 'DESTROYED' } }
    let last = await living.next()
    while (last?.data.instanceChanges.kind === 'ADDED') last = await living.next()
    expect(last).toEqual({ data: { instanceChanges } })
    const late = await subscribe(watchQuery(id, 'status'))
    expect(await late.next()).toEqual({ data: { instanceChanges: { instance: { status: 'DESTROYED' } } } })
    for (const open of [stream, living, late]) await open.close()
    await allClosed()
  })

  it('is streamed from where another stream ended', async () => {
    const [id, unchanged] = [
      await rentals.rent(renter, { label: 'fleet' }),
      await rentals.rent(renter, { label: 'fleet' }),
    ]
    const query = (after: string) =>
      `subscription { instanceChanges(filter: { label: { eq: "fleet" } }, after: ${after}) {
        ... on InstanceChange { cursor kind instanceId instance { minimumBidPerHour label } } } }`
    const stream = await subscribe(query('null'))
    const first = [await stream.next(), await stream.next()].map(result => result?.data.instanceChanges)
    expect(first).toMatchObject([
      { kind: 'ADDED', instanceId: `ins_${id}` },
      { kind: 'ADDED', instanceId: `ins_${unchanged}`, instance: { label: 'fleet', minimumBidPerHour: null } },
    ])
    await stream.close()
    await setLabel(id, 'gone')
    const resumed = await subscribe(query(`"${first[1].cursor}"`))
    const instanceChanges = { kind: 'REMOVED', instanceId: `ins_${id}`, instance: { label: 'gone' } }
    expect(await resumed.next()).toMatchObject({ data: { instanceChanges } })
    await resumed.close()
  })
})

it('a stream of no instances says at once that these are all, with a cursor to continue after', async () => {
  const query = (after: string) =>
    `subscription { instanceChanges(filter: { label: { eq: "nobody" } }, after: ${after}) { __typename cursor } }`
  const synced = { data: { instanceChanges: { __typename: 'InstancesSynced', cursor: expect.any(String) } } }
  const stream = await subscribe(query('null'))
  const first = await stream.next()
  expect(first).toEqual(synced)
  await stream.close()
  const resumed = await subscribe(query(JSON.stringify(first?.data.instanceChanges.cursor)))
  expect(await resumed.next()).toEqual(synced)
  await rentals.rent(renter, { label: 'nobody' })
  expect(await resumed.next()).toMatchObject({ data: { instanceChanges: { __typename: 'InstanceChange' } } })
  await resumed.close()
})

it('a stream reads no machine: a silent one would hold up the changes of all others', async () => {
  const id = await rentals.rentToStatus(renter, 'running')
  const stream = await subscribe(watchQuery(id, 'id logs(tail: 1) { text }'))
  const extensions = expect.objectContaining({ code: 'COST_LIMIT_EXCEEDED' })
  expect(await stream.next()).toEqual({
    data: { instanceChanges: { instance: { id: `ins_${id}`, logs: null } } },
    errors: [expect.objectContaining({ message: expect.stringContaining('instanceLogs'), extensions })],
  })
  await setLabel(id, 'next')
  expect(await stream.next()).toMatchObject({ data: { instanceChanges: { instance: { id: `ins_${id}` } } } })
  await stream.close()
})

describe('a stream', () => {
  it('is opened by GET as well, and for a client that also accepts other types', async () => {
    const id = await rentals.rent(renter)
    const both = { accept: 'application/json, text/event-stream' }
    for (const options of [{ method: 'GET' }, { headers: both }] as SseOptions[]) {
      const stream = await subscribe(watchQuery(id, 'id'), options)
      expect(await stream.next()).toEqual({ data: { instanceChanges: { instance: { id: `ins_${id}` } } } })
      await stream.close()
    }
    await allClosed()
  })

  describe.each(['GET', 'POST'])('by %s', method => {
    it.each([
      ['application/json', 'application/json'],
      ['application/graphql-response+json', 'application/graphql-response+json'],
      ['*/*', 'application/json'],
      [undefined, 'application/json'],
      ['text/*', 'text/event-stream'],
      ['text/html', 'application/json'],
      ['multipart/mixed', 'application/json'],
      ['application/json, text/event-stream;q=0', 'application/json'],
    ])('is refused at once, with the header to send, when Accept is %s', async (accept, answeredIn) => {
      const query = watchQuery(await rentals.rent(renter), 'id')
      const headers = {
        authorization: `Bearer ${renter}`,
        'content-type': 'application/json',
        ...(accept && { accept }),
      }
      const response = await app.fetch(
        method === 'GET'
          ? new Request(`http://berth.test/graphql?query=${encodeURIComponent(query)}`, { headers })
          : new Request('http://berth.test/graphql', { method, headers, body: JSON.stringify({ query }) }),
      )
      expect([response.status, response.headers.get('content-type')]).toEqual([
        406,
        expect.stringContaining(answeredIn),
      ])
      expect(await response.text()).toContain('text/event-stream')
      expect(app.countStreams()).toBe(0)
    })
  })

  it('tells proxies to forward each event at once and to cache none', async () => {
    const id = await rentals.rent(renter)
    const url = `http://berth.test/graphql?query=${encodeURIComponent(watchQuery(id, 'id'))}`
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${renter}` }
    const closing = new AbortController()
    const { headers: answered } = await app.fetch(new Request(url, { headers, signal: closing.signal }))
    expect(Object.fromEntries(answered)).toMatchObject({
      'x-accel-buffering': 'no',
      'cache-control': 'no-store, no-transform',
    })
    closing.abort()
    await allClosed()
  })

  it('is not left open by HEAD', async () => {
    const id = await rentals.rent(renter)
    const url = `http://berth.test/graphql?query=${encodeURIComponent(watchQuery(id, 'id'))}`
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${renter}` }
    expect((await app.fetch(new Request(url, { method: 'HEAD', headers }))).status).toBe(200)
    await allClosed()
  })

  it('is not left open by a client that disconnected before the answer', async () => {
    const id = await rentals.rent(renter)
    const closing = new AbortController()
    const init = {
      method: 'POST',
      headers: { accept: 'text/event-stream', authorization: `Bearer ${renter}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: watchQuery(id, 'id') }),
      signal: closing.signal,
    }
    const answer = app.fetch(new Request('http://berth.test/graphql', init))
    await expect.poll(() => app.countStreams()).toBe(1)
    closing.abort()
    await answer.catch(() => {})
    await allClosed()
  })

  it.each([
    ['a cursor of no stream', 'subscription { instanceChanges(after: "x") { cursor } }', 'INVALID_CURSOR', 200],
    [
      'an id of another type',
      'subscription { instanceChanges(filter: { ids: ["off_1"] }) { cursor } }',
      'BAD_USER_INPUT',
      200,
    ],
    [
      'two root fields',
      'subscription { a: instanceChanges { cursor } b: instanceChanges { cursor } }',
      'GRAPHQL_VALIDATION_FAILED',
      200,
    ],
    [
      'too many levels',
      `subscription { instanceChanges { ... on InstanceChange { instance { ${'offer { machine { '.repeat(6)}id${'} }'.repeat(6)} } } } }`,
      'GRAPHQL_VALIDATION_FAILED',
      200,
    ],
  ])('is refused for %s', async (_name, query, code, status) => {
    const stream = await subscribe(query)
    expect(stream.status).toBe(status)
    expect(await stream.readToEnd()).toEqual([
      { errors: [expect.objectContaining({ extensions: expect.objectContaining({ code }) })] },
    ])
  })

  it('is refused to a key without the permission', async () => {
    const id = await rentals.rent(renter)
    const key = await app.newScopedKey(renter, { api: { instance_write: {} } })
    const stream = await subscribe(watchQuery(id, 'id'), { key })
    expect(stream.status).toBe(403)
    const extensions = { code: 'FORBIDDEN', missing: ['INSTANCE_CHANGES'] }
    expect(await stream.readToEnd()).toMatchObject([{ errors: [{ extensions }] }])
  })
})

describe('a subscription without its field', () => {
  it.each([
    ['on the field', 'subscription { instanceChanges @skip(if: true) { cursor } }'],
    ['on an inline fragment', 'subscription { ... @include(if: false) { instanceChanges { cursor } } }'],
    [
      'in a fragment',
      'subscription { ...of } fragment of on Subscription { instanceChanges @include(if: false) { cursor } }',
    ],
  ])('is refused with the directive %s', async (_where, query) => {
    const { data, errors } = await app.graphql(renter, query)
    const message = expect.stringContaining('must not have the directive')
    expect([data, errors]).toMatchObject([undefined, [{ message, extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }]])
  })
})
