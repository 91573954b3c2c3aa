// Operators list, show, stop and destroy instances of any renter, who reads why.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../../support/app.ts'
import { type Gateway, openGateway } from '../../../support/gateways.ts'
import { type Rentals, rentalsOf, someCredit } from '../../../support/instances/rentals.ts'

let app: TestApp
let other: Gateway
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  other = openGateway({ url: app.database.url, now: app.clock.now })
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(async () => {
  await other.close()
  await app.close()
})

const instances = () => app.operations.instances

async function seen(id: number) {
  const query = `{ instance(id: ${id}) { status targetState costPerHour statusReason { code message } } }`
  return (await app.graphql(key, query)).data.instance
}

const eventsOf = async (id: number, kind: string) =>
  await app.sql(
    `SELECT actor_kind, reason, note FROM events WHERE instance_id = ${id} AND kind = '${kind}' ORDER BY id`,
  )

const byOperator = (note: string) => ({ actor_kind: 'operator', reason: 'OPERATOR_REQUEST', note })

describe('an instance that an operator stops', () => {
  const why = 'It sends spam. Write to abuse@example.com.'
  const message = `An operator of the service stopped the instance: ${why}`

  it('stops, tells its renter why on both faces, and costs only its disk', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    expect(await instances().stop(BigInt(id), why)).toBe(true)
    expect(await seen(id)).toMatchObject({ targetState: 'STOPPED', costPerHour: '0.004' })
    await rentals.converge()
    expect(await seen(id)).toMatchObject({ status: 'STOPPED', statusReason: { code: 'OPERATOR_REQUEST', message } })
    expect((await rentals.read(key, id)).status_msg).toBe(message)
    expect(await eventsOf(id, 'INSTANCE_TARGET_CHANGED')).toEqual([byOperator(why)])
    const query = `{ instance(id: ${id}) { events(last: 20) { nodes { kind note message actor { kind } reason { code } } } } }`
    const { data } = await app.graphql(key, query)
    expect(data.instance.events.nodes).toContainEqual({
      ...{ kind: 'INSTANCE_TARGET_CHANGED', note: why, actor: { kind: 'OPERATOR' } },
      ...{ message: 'Instance stop requested. An operator of the service asked for it.' },
      reason: { code: 'OPERATOR_REQUEST' },
    })
  })

  it('can be started again by its renter, and then shows no trace of the operator', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    await instances().stop(BigInt(id), why)
    await rentals.converge()
    const setState = (state: string) => app.rest(key, 'PUT', `/instances/${id}/`, { state })
    await setState('running')
    await rentals.converge()
    expect(await seen(id)).toMatchObject({ status: 'RUNNING', statusReason: { code: 'STARTED' } })
    await setState('stopped')
    await rentals.converge()
    const reason = { code: 'USER_REQUEST', message: 'The renter asked to stop the instance.' }
    expect(await seen(id)).toMatchObject({ status: 'STOPPED', statusReason: reason })
  })

  it('has not failed to start, so that its renter need not wait for the next start', async () => {
    const id = await rentals.rent(key)
    await app.runUntilIdle()
    expect((await seen(id)).status).toBe('LOADING')
    await instances().stop(BigInt(id), why)
    const [account] = await app.sql(
      `SELECT start_failures FROM accounts a JOIN instances i ON i.account_id = a.id WHERE i.id = ${id}`,
    )
    expect(account).toEqual({ start_failures: 0 })
  })

  it('changes once, however often and from wherever it is stopped', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const commands = [app.operations, other.operations, app.operations, other.operations]
    const changed = await Promise.all(commands.map(({ instances: each }) => each.stop(BigInt(id), why)))
    expect(changed.filter(Boolean)).toEqual([true])
    expect(await instances().stop(BigInt(id), 'Another reason.')).toBe(false)
    expect(await eventsOf(id, 'INSTANCE_TARGET_CHANGED')).toEqual([byOperator(why)])
  })
})

describe('an instance that an operator destroys', () => {
  const why = 'The machine is taken down.'
  const message = `An operator of the service destroyed the instance: ${why}`

  it('tells its renter why, gives its GPUs back, and costs nothing', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    expect(await instances().destroy(BigInt(id), why)).toBe(true)
    const reason = { code: 'OPERATOR_REQUEST', message }
    expect(await seen(id)).toMatchObject({ status: 'DESTROYED', costPerHour: '0', statusReason: reason })
    await rentals.converge()
    expect(await seen(id)).toMatchObject({ status: 'DESTROYED', statusReason: reason })
    expect(await eventsOf(id, 'INSTANCE_DESTROYED')).toEqual([byOperator(why)])
    expect(await app.sql(`SELECT FROM gpus WHERE holder_id = ${id} OR occupant_id = ${id}`)).toEqual([])
    const { instance } = await instances().byId(BigInt(id))
    expect(instance.removedAt).not.toBeNull()
  })

  it('changes once, and cannot be stopped afterwards', async () => {
    const id = await rentals.rent(key)
    const commands = [app.operations, other.operations]
    const changed = await Promise.all(commands.map(({ instances: each }) => each.destroy(BigInt(id), why)))
    expect(changed.filter(Boolean)).toEqual([true])
    expect(await eventsOf(id, 'INSTANCE_DESTROYED')).toHaveLength(1)
    const stop = instances().stop(BigInt(id), why)
    await expect(stop).rejects.toMatchObject({ code: 'INVALID_STATE', message: `Instance ${id} is destroyed.` })
  })
})

describe('a command of an operator', () => {
  it.each([
    ['', 'reason: must not be blank.'],
    [' ', 'reason: must not be blank.'],
    ['x'.repeat(257), 'reason: must have at most 256 characters, not 257.'],
    ['two\nlines', 'reason: must be one line, without control characters.'],
  ])('needs a reason that its renter can read, not %j', async (reason, message) => {
    const id = await rentals.rent(key)
    for (const command of [instances().stop, instances().destroy])
      await expect(command(BigInt(id), reason)).rejects.toThrow(message)
    expect((await seen(id)).targetState).toBe('RUNNING')
  })

  it('names an instance that does not exist', async () => {
    const unknown = 2_000_000_000n
    for (const command of [instances().stop, instances().destroy, instances().byId])
      await expect(command(unknown, 'x')).rejects.toMatchObject({
        ...{ code: 'NOT_FOUND', message: 'There is no instance 2000000000.' },
      })
  })
})

it('the list has the instances of all renters, in pages and by account, machine and status', async () => {
  const rival = await app.newKey(null, someCredit)
  const mine = await rentals.rentToStatus(key, 'running')
  const theirs = await rentals.rentToStatus(rival, 'running', { label: 'theirs' })
  const stopped = await rentals.rentToStatus(rival, 'stopped')
  const gone = await rentals.rent(rival)
  await app.rest(rival, 'DELETE', `/instances/${gone}/`)
  const ids = async (filter: Parameters<ReturnType<typeof instances>['page']>[0], after = mine - 1, limit = 9) =>
    (await instances().page(filter, after, limit)).map(({ id }) => id)
  expect(await ids({})).toEqual([mine, theirs, stopped])
  expect(await ids({}, mine - 1, 2)).toEqual([mine, theirs])
  expect(await ids({}, theirs)).toEqual([stopped])
  const [row] = await instances().page({}, theirs - 1, 1)
  expect(row).toMatchObject({ id: theirs, label: 'theirs', status: 'running', charged: true, gpuModel: 'RTX 4090' })
  expect(row?.account).toMatch(/^renter-\d+@example\.com$/)
  expect(await ids({ accountId: row?.accountId })).toEqual([theirs, stopped])
  expect(await ids({ machineId: { eq: BigInt(row?.machineId ?? 0) } })).toEqual([theirs])
  expect(await ids({ status: ['stopped'] })).toEqual([stopped])
  expect(await ids({ status: ['stopped', 'destroyed'] })).toEqual([stopped, gone])
  const { instance, account } = await instances().byId(BigInt(theirs))
  expect([instance.label, account]).toEqual(['theirs', row?.account])
})
