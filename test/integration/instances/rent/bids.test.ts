// Bids of two renters, over both faces.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../../support/app.ts'
import { creditSql } from '../../../support/billing/credit-sql.ts'
import { type Rentals, rentalsOf, someCredit } from '../../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let renter: string
let rival: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  renter = await app.newKey(null, { creditNanos: 1_000_000_000_000n })
  rival = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

/** Rents the GPUs of a new machine at a bid. The floor of the host is $0.2 per GPU. */
async function aBid(price: number, machine: { numGpus?: number } = {}) {
  const id = await rentals.rent(renter, { price }, machine)
  return { id, machineId: (await rentals.read(renter, id)).machine_id as number }
}

/** The offer of all GPUs of a machine, as a search returns it. */
async function offerOf(machineId: number, type = 'bid') {
  const filter = { machine_id: { eq: machineId }, type, order: [['num_gpus', 'desc']] }
  const { body } = await app.rest(rival, 'POST', '/bundles/', filter)
  return body.offers[0]
}

const rentBeside = async (machineId: number, body: object) => {
  const { id } = await offerOf(machineId)
  return await app.rest(rival, 'PUT', `/asks/${id}/`, { image: 'ubuntu', ...body })
}

const seen = 'id status statusReason { code } bidPerHour minimumBidPerHour pricePerHour actions { action available }'

async function changeBid(key: string, id: number, bidPerHour: string) {
  const { data, errors } = await app.graphql(
    key,
    `mutation ($input: UpdateInstanceBidInput!) { updateInstanceBid(input: $input) {
      ... on UpdateInstanceBidSuccess { instance { ${seen} } }
      ... on Error { code message retry }
      ... on BidTooLowError { hostMinimumBidPerHour }
      ... on NotFoundError { id }
      ... on InvalidStateError { current { id } }
      ... on InsufficientCreditError { available }
      ... on InvalidInputError { issues { path message } } } }`,
    { input: { id: String(id), bidPerHour } },
  )
  return errors ? { code: errors[0]?.extensions['code'], message: errors[0]?.message } : data.updateInstanceBid
}

async function read(key: string, id: number) {
  const { data } = await app.graphql(key, `query ($id: ID!) { instance(id: $id) { ${seen} } }`, { id: String(id) })
  return data.instance
}

const minimumOf = async (key: string, id: number) => (await read(key, id)).minimumBidPerHour

/** The events about the GPUs and the bid of an instance. */
async function eventsOf(id: number) {
  const kinds = "('INSTANCE_GRANTED', 'INSTANCE_OUTBID', 'INSTANCE_BID_CHANGED')"
  return await app.sql(
    `SELECT kind, reason, before, after, api_key_id IS NOT NULL AS by_caller FROM events
      WHERE instance_id = ${id} AND kind IN ${kinds} ORDER BY id`,
  )
}

const won = {
  ...{ kind: 'INSTANCE_GRANTED', reason: 'GPUS_FREE', by_caller: false },
  ...{ before: { granted: false }, after: { granted: true } },
}
const lost = (reason: string, minimumBidNanos?: string) => {
  const after = { granted: false, ...(minimumBidNanos === undefined ? {} : { minimumBidNanos }) }
  return { kind: 'INSTANCE_OUTBID', reason, before: { granted: true }, after, by_caller: false }
}

describe('an instance at a bid', () => {
  it('raises the minimum bid of all offers that share its GPUs', async () => {
    const { machineId } = await aBid(0.9, { numGpus: 4 })
    expect(await offerOf(machineId)).toMatchObject({ num_gpus: 4, min_bid: 0.901, rentable: true })
    const single = { machine_id: { eq: machineId }, num_gpus: { eq: 1 }, type: 'bid' }
    const { body } = await app.rest(rival, 'POST', '/bundles/', single)
    expect(body.offers).toMatchObject([{ num_gpus: 1, min_bid: 0.226 }])
    expect(await offerOf(machineId, 'ondemand')).toMatchObject({ dph_base: 1.6, min_bid: 0.901 })
  })

  it('waits with a reason after it is outbid, and resumes when the winner leaves', async () => {
    const { id, machineId } = await aBid(0.25)
    await rentals.converge()
    const { body } = await rentBeside(machineId, { price: 0.3 })
    await rentals.converge()
    expect(await read(renter, id)).toMatchObject({
      ...{ status: 'SCHEDULING', statusReason: { code: 'OUTBID' }, bidPerHour: '0.25', minimumBidPerHour: '0.301' },
    })
    expect(await rentals.read(renter, id)).toMatchObject({
      ...{ actual_status: 'stopped', intended_status: 'running', cur_state: 'stopped' },
      ...{ is_bid: true, dph_base: 0.25 },
    })
    expect(await eventsOf(id)).toEqual([won, lost('OUTBID', '301000000')])
    await app.rest(rival, 'PUT', `/instances/${body.new_contract}/`, { state: 'stopped' })
    await rentals.converge()
    expect(await rentals.read(renter, id)).toMatchObject({ actual_status: 'running', cur_state: 'running' })
    expect(await eventsOf(id)).toEqual([won, lost('OUTBID', '301000000'), won])
  })

  it('is displaced by an on-demand rental, and no higher bid wins the GPUs back', async () => {
    const { id, machineId } = await aBid(100)
    await rentals.converge()
    expect(await rentBeside(machineId, { cancel_unavail: true })).toMatchObject({ status: 200 })
    await rentals.converge()
    expect(await read(renter, id)).toMatchObject({
      ...{ status: 'SCHEDULING', statusReason: { code: 'OUTBID' }, minimumBidPerHour: null },
    })
    expect(await eventsOf(id)).toEqual([won, lost('ON_DEMAND')])
    expect(await changeBid(renter, id, '128')).toMatchObject({ instance: { status: 'SCHEDULING', bidPerHour: '128' } })
    await rentals.converge()
    expect(await rentals.read(renter, id)).toMatchObject({ actual_status: 'stopped', intended_status: 'running' })
  })
})

describe('a bid for GPUs that another bid has won', () => {
  /** Everything that a failed rental could leave. */
  const traces = () =>
    app.sql(`SELECT (SELECT count(*) FROM instances) AS instances, (SELECT count(*) FROM events) AS events,
      (SELECT json_agg(to_jsonb(m) ORDER BY id) FROM machines m) AS machines,
      (SELECT json_agg(to_jsonb(o) ORDER BY id) FROM offers o) AS offers,
      (SELECT json_agg(to_jsonb(g) ORDER BY machine_id, index) FROM gpus g) AS gpus`)

  it.each([0.2, 0.25])('of %d dollars with cancel_unavail is refused without a trace', async price => {
    const { machineId } = await aBid(0.25)
    const before = await traces()
    expect(await rentBeside(machineId, { price, cancel_unavail: true })).toMatchObject({
      ...{ status: 410, body: { success: false, error: 'no_such_ask' } },
    })
    expect(await traces()).toEqual(before)
  })

  it('without cancel_unavail waits, and wins the GPUs when the other instance leaves', async () => {
    const { id, machineId } = await aBid(0.25)
    await rentals.converge()
    const { status, body } = await rentBeside(machineId, { price: 0.25 })
    expect(status).toBe(200)
    await rentals.converge()
    expect(await read(rival, body.new_contract)).toMatchObject({
      ...{ status: 'SCHEDULING', statusReason: { code: 'WAITING_FOR_GPUS' }, minimumBidPerHour: '0.251' },
    })
    await app.rest(renter, 'DELETE', `/instances/${id}/`)
    await rentals.converge()
    expect(await read(rival, body.new_contract)).toMatchObject({ status: 'RUNNING', minimumBidPerHour: '0.2' })
  })
})

describe('a changed bid', () => {
  it('wins the GPUs when raised, and loses them when lowered', async () => {
    const { id, machineId } = await aBid(0.25)
    const { body } = await rentBeside(machineId, { price: 0.3 })
    const other = body.new_contract
    await rentals.converge()
    const minimum = await minimumOf(renter, id)
    expect(await changeBid(renter, id, minimum)).toMatchObject({
      instance: { id: `ins_${id}`, bidPerHour: '0.301', pricePerHour: '0.305' },
    })
    await rentals.converge()
    const status = async (key: string, of: number) => (await rentals.read(key, of)).actual_status
    expect([await status(renter, id), await status(rival, other)]).toEqual(['running', 'stopped'])
    expect(await rentals.read(renter, id)).toMatchObject({ dph_base: 0.301, min_bid: 0.301 })
    expect(await offerOf(machineId)).toMatchObject({ min_bid: 0.302 })
    expect(await changeBid(renter, id, '0.2')).toMatchObject({ instance: { bidPerHour: '0.2' } })
    await rentals.converge()
    expect([await status(renter, id), await status(rival, other)]).toEqual(['stopped', 'running'])
    const changed = (before: string, after: string) => ({
      ...{ kind: 'INSTANCE_BID_CHANGED', reason: 'USER_REQUEST', by_caller: true },
      ...{ before: { gpuPriceNanos: before }, after: { gpuPriceNanos: after } },
    })
    expect(await eventsOf(id)).toEqual([
      ...[won, lost('OUTBID', '301000000')],
      ...[changed('250000000', '301000000'), won],
      ...[changed('301000000', '200000000'), lost('OUTBID', '301000000')],
    ])
  })

  it('keeps the GPUs at the minimum, and loses them a step below', async () => {
    const { id, machineId } = await aBid(0.4)
    await rentBeside(machineId, { price: 0.3 })
    expect(await minimumOf(renter, id)).toBe('0.301')
    await changeBid(renter, id, '0.301')
    expect(await eventsOf(id)).toHaveLength(2)
    app.clock.advance(1_000)
    await changeBid(renter, id, '0.3')
    expect(await eventsOf(id)).toMatchObject([won, {}, {}, lost('OUTBID', '301000000')])
  })

  it('of a stopped instance claims no GPUs until the instance is started', async () => {
    const { id, machineId } = await aBid(0.25)
    await app.rest(renter, 'PUT', `/instances/${id}/`, { state: 'stopped' })
    await rentals.converge()
    await rentBeside(machineId, { price: 0.3 })
    expect(await changeBid(renter, id, '0.35')).toMatchObject({ instance: { bidPerHour: '0.35' } })
    expect(await eventsOf(id)).toMatchObject([won, { kind: 'INSTANCE_BID_CHANGED' }])
    expect(await offerOf(machineId)).toMatchObject({ min_bid: 0.301 })
    await app.rest(renter, 'PUT', `/instances/${id}/`, { state: 'running' })
    await rentals.converge()
    expect((await rentals.read(renter, id)).actual_status).toBe('running')
  })

  it('that equals the old bid causes no event', async () => {
    const { id } = await aBid(0.25)
    expect(await changeBid(renter, id, '0.25')).toMatchObject({ instance: { bidPerHour: '0.25' } })
    expect(await eventsOf(id)).toEqual([won])
  })

  it('updates the minimum bid within one request', async () => {
    const { id, machineId } = await aBid(0.25)
    const { body } = await rentBeside(machineId, { price: 0.3 })
    const change = (alias: string, bid: string) =>
      `${alias}: updateInstanceBid(input: { id: "${body.new_contract}", bidPerHour: "${bid}" }) { __typename }`
    const items = `{ ... on UpdateInstancesSuccess { items { instance { minimumBidPerHour } } } }`
    const stop = `updateInstances(input: { target: { ids: ["${body.new_contract}"] }, label: "x" }) ${items}`
    const { data } = await app.graphql(rival, `mutation { ${change('a', '0.4')} stop: ${stop} ${change('b', '0.2')} }`)
    expect(data).toMatchObject({ stop: { items: [{ instance: { minimumBidPerHour: '0.251' } }] } })
    expect(await minimumOf(renter, id)).toBe('0.201')
  })
})

describe('a bid', () => {
  it('is refused below the floor of the host for all GPUs', async () => {
    const { id } = await aBid(1, { numGpus: 4 })
    expect(await changeBid(renter, id, '0.799999999')).toEqual({
      ...{ code: 'BID_TOO_LOW', retry: 'AFTER_FIX', hostMinimumBidPerHour: '0.8' },
      message: 'The host accepts no bid under $0.8 an hour for these GPUs.',
    })
    expect(await changeBid(renter, id, '0.8')).toMatchObject({ instance: { bidPerHour: '0.8' } })
  })

  it.each(['0', '-1', '0.000999999', '128.000000001'])('is refused out of range: %s', async bid => {
    const { id } = await aBid(0.25)
    expect(await changeBid(renter, id, bid)).toMatchObject({
      code: 'INVALID_INPUT',
      issues: [{ path: 'bidPerHour', message: `must be from 0.001 to 128 dollars an hour, not ${bid}.` }],
    })
    expect(await read(renter, id)).toMatchObject({ bidPerHour: '0.25' })
  })

  it('is refused for an on-demand rental', async () => {
    const id = await rentals.rent(renter)
    const refusal = { code: 'INVALID_STATE', current: { id: `ins_${id}` } }
    expect(await changeBid(renter, id, '0.3')).toMatchObject(refusal)
    expect(await minimumOf(renter, id)).toBeNull()
  })

  it.each(['exited', 'offline', 'unknown'])('is refused for an instance that is %s', async status => {
    const id = await rentals.rentToStatus(renter, status, { price: 0.25 })
    expect(await changeBid(renter, id, '0.3')).toMatchObject({ code: 'INVALID_STATE' })
    expect(await minimumOf(renter, id)).toBeNull()
  })

  it('is refused with the same answer for a foreign and an unknown instance, and says when its own is destroyed', async () => {
    const { id } = await aBid(0.25)
    const { id: gone } = await aBid(0.25)
    await app.rest(renter, 'DELETE', `/instances/${gone}/`)
    const before = await eventsOf(id)
    const answer = async (key: string, of: number) =>
      JSON.parse(JSON.stringify(await changeBid(key, of, '0.3')).replaceAll(String(of), 'ID'))
    const never = await answer(rival, 987_654_321)
    expect(never).toEqual({
      ...{ code: 'NOT_FOUND', id: 'ins_ID', message: 'Instance ins_ID not found.', retry: 'NEVER' },
    })
    expect(await answer(rival, id)).toEqual(never)
    expect(await answer(renter, gone)).toMatchObject({
      ...{ code: 'INVALID_STATE', message: 'Instance ins_ID is destroyed. Rent another one.', retry: 'NEVER' },
    })
    expect(await answer(rival, gone)).toEqual(never)
    expect([await eventsOf(id), (await read(renter, id)).bidPerHour]).toEqual([before, '0.25'])
  })

  it('is refused without credit when it is raised, but never when it is lowered', async () => {
    const key = await app.newKey(null, someCredit)
    const id = await rentals.rent(key, { price: 0.25 })
    const [row] = await app.sql(`SELECT account_id FROM instances WHERE id = ${id}`)
    await app.sql(creditSql(0n, `id = ${(row as { account_id: number }).account_id}`))
    expect(await changeBid(key, id, '0.26')).toMatchObject({
      ...{ code: 'INSUFFICIENT_CREDIT', message: 'You lack credit.', available: '0', retry: 'AFTER_FIX' },
    })
    expect(await changeBid(key, id, '0.25')).toMatchObject({ instance: { bidPerHour: '0.25' } })
    expect(await changeBid(key, id, '0.24')).toMatchObject({ instance: { bidPerHour: '0.24' } })
  })

  it('is refused to a key that is bound to another instance or may only read', async () => {
    const [{ id }, { id: other }] = [await aBid(0.25), await aBid(0.25)]
    const bound = { constraints: { id: { eq: id } } }
    const key = await app.newScopedKey(renter, {
      api: { instance_write: { 'instances.changeBid': bound }, instance_read: { 'instances.get': bound } },
    })
    expect(await changeBid(key, other, '0.3')).toMatchObject({ code: 'FORBIDDEN' })
    expect(await changeBid(await app.newScopedKey(renter, { api: { instance_read: {} } }), id, '0.3')).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await changeBid(key, id, '0.3')).toMatchObject({ instance: { bidPerHour: '0.3', minimumBidPerHour: '0.2' } })
    expect(await eventsOf(other)).toEqual([won])
    const { data, errors } = await app.graphql(
      await app.newScopedKey(renter, { api: { instance_write: {} } }),
      `mutation { updateInstanceBid(input: { id: "${id}", bidPerHour: "0.31" }) {
        ... on UpdateInstanceBidSuccess { instance { bidPerHour minimumBidPerHour } } } }`,
    )
    expect(data.updateInstanceBid).toEqual({ instance: { bidPerHour: '0.31', minimumBidPerHour: null } })
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN', missing: ['INSTANCE'] } }])
  })
})

describe('the actions of an instance', () => {
  it.each([
    ['a bid', { price: 0.25 }, true],
    ['a fixed price', {}, false],
  ])('rented at %s show whether its bid can change', async (_, body, available) => {
    const id = await rentals.rent(renter, body)
    const { actions } = await read(renter, id)
    expect(actions).toContainEqual({ action: 'UPDATE_BID', available })
  })
})
