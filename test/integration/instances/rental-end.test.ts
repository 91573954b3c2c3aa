import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { createPolicyLoop } from '../../../src/reconciler/loops.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

const hour = 3_600_000
let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const inHours = (hours: number) => new Date(app.clock.now().getTime() + hours * hour)

async function passHours(hours: number): Promise<void> {
  app.clock.advance(hours * hour)
  await app.runUntilIdle()
}

type EndEvent = { kind: string; reason: string | null; api_key_id: number | null; after: unknown; created_at: Date }
async function endEventsOf(id: number): Promise<EndEvent[]> {
  const kinds = "('INSTANCE_ENDING', 'INSTANCE_DESTROYED', 'INSTANCE_REMOVED')"
  return (await app.sql(`
    SELECT kind, reason, api_key_id, after, created_at FROM events WHERE instance_id = ${id} AND kind IN ${kinds} ORDER BY id`)) as EndEvent[]
}

async function rentFor(hours: number, body: object = {}): Promise<number> {
  const id = await rentals.rent(key, body, { listedUntil: inHours(hours) })
  await app.runUntilIdle()
  return id
}

const instanceQuery =
  '{ status targetState statusReason { code message } endsAt destroyedAt actions { action available reason { code message } } }'
async function read(id: number) {
  const { data } = await app.graphql(key, `{ instance(id: ${id}) ${instanceQuery} }`)
  return data.instance
}

describe('a rental whose machine leaves the market', () => {
  it('gets a warning 24 hours before its end, and is then destroyed with a reason', async () => {
    const endsAt = inHours(50)
    const id = await rentFor(50)
    await passHours(25.9)
    expect(await endEventsOf(id)).toEqual([])
    await passHours(0.1)
    const warnedAt = app.clock.now()
    const announcement = {
      kind: 'INSTANCE_ENDING',
      api_key_id: null,
      created_at: warnedAt,
      after: { endsAt: endsAt.toISOString() },
    }
    expect(await endEventsOf(id)).toMatchObject([announcement])

    await passHours(23.9)
    expect(await read(id)).toMatchObject({ status: 'RUNNING', endsAt: endsAt.toISOString() })
    await passHours(0.1)
    expect(await read(id)).toMatchObject({
      status: 'DESTROYED',
      statusReason: { code: 'RENTAL_ENDED', message: expect.stringContaining('left the market') },
      destroyedAt: endsAt.toISOString(),
    })
    const destroyed = { kind: 'INSTANCE_DESTROYED', reason: 'RENTAL_ENDED', api_key_id: null, created_at: endsAt }
    expect(await endEventsOf(id)).toMatchObject([announcement, destroyed, { kind: 'INSTANCE_REMOVED' }])
    expect(
      await app.sql(`SELECT holder_id, occupant_id FROM gpus JOIN instances USING (machine_id) WHERE id = ${id}`),
    ).toEqual([{ holder_id: null, occupant_id: null }])
    const answer = await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'running' })
    expect(answer.status).toBe(404)
  })

  it('gets the warning at once when it ends in less than 24 hours', async () => {
    const id = await rentFor(3)
    expect(await endEventsOf(id)).toMatchObject([{ kind: 'INSTANCE_ENDING', created_at: app.clock.now() }])
  })

  it.each(['stopped', 'exited'])('ends even if its instance is %s', async status => {
    const endsAt = inHours(50)
    const id = await rentals.rent(key, {}, { listedUntil: endsAt })
    await rentals.converge()
    if (status === 'exited') await rentals.exit(id)
    else await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'stopped' })
    await rentals.converge()
    await passHours(30)
    await passHours(30)
    expect(await read(id)).toMatchObject({ status: 'DESTROYED', statusReason: { code: 'RENTAL_ENDED' } })
    expect((await endEventsOf(id)).map(({ kind }) => kind)).toEqual([
      'INSTANCE_ENDING',
      'INSTANCE_DESTROYED',
      'INSTANCE_REMOVED',
    ])
  })

  it('gets no warning when it was destroyed before', async () => {
    const id = await rentFor(50)
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    await passHours(60)
    expect(await endEventsOf(id)).toMatchObject([
      { kind: 'INSTANCE_DESTROYED', reason: 'USER_REQUEST' },
      { kind: 'INSTANCE_REMOVED' },
    ])
    expect(await app.sql(`SELECT policy_due_at FROM instances WHERE id = ${id}`)).toEqual([{ policy_due_at: null }])
  })

  it('ends without a warning when no gateway ran in time', async () => {
    const id = await rentFor(50)
    await passHours(60)
    expect((await endEventsOf(id)).map(({ kind }) => kind)).toEqual(['INSTANCE_DESTROYED', 'INSTANCE_REMOVED'])
  })
})

describe('two gateways', () => {
  let gateways: Gateway[]
  let actor: Actor

  beforeAll(async () => {
    gateways = [0, 1].map(() => openGateway({ url: app.database.url, now: app.clock.now }))
    actor = await (gateways[0] as Gateway).newActor()
  })

  afterAll(async () => {
    for (const gateway of gateways) await gateway.close()
  })

  beforeEach(() => app.runUntilIdle())

  async function rentSome(count: number): Promise<bigint[]> {
    const gateway = gateways[0] as Gateway
    const ids: bigint[] = []
    for (let index = 0; index < count; index += 1) {
      await listMachines(app.operations, [{ machine: { listedUntil: inHours(30) } }])
      const [offer] = await gateway.sql('SELECT max(id) AS id FROM offers WHERE withdrawn_at IS NULL')
      ids.push((await gateway.rent(actor, BigInt(offer?.['id'] as string))).id)
    }
    return ids
  }

  it('perform each due action once', async () => {
    const ids = await rentSome(20)
    const loops = gateways.map(gateway => {
      const log = { warn: () => {} } as never
      return createPolicyLoop({ policies: gateway.policies, log })
    })
    for (const _ of [1, 2]) {
      app.clock.advance(24 * hour)
      await Promise.all(loops.map(loop => loop.idle()))
    }
    for (const id of ids) {
      expect((await endEventsOf(Number(id))).map(({ kind }) => kind)).toEqual(['INSTANCE_ENDING', 'INSTANCE_DESTROYED'])
    }
  })

  it('return the GPUs of an ended rental to the market at once', async () => {
    const [id] = await rentSome(1)
    await app.runUntilIdle()
    const [gateway] = gateways
    if (!gateway) throw new Error('There is no gateway yet.')
    const holders = () => gateway.sql('SELECT holder_id FROM gpus WHERE holder_id = $1', [id])
    expect(await holders()).toHaveLength(1)
    app.clock.advance(31 * hour)
    const policies = gateway.policies
    const lease = (await policies.leaseDue(100)).find(({ instanceId }) => instanceId === id)
    if (!lease) throw new Error('The instance is not due.')
    await policies.perform(lease)
    expect(await holders()).toEqual([])
  })

  it('perform an action once when one of them hangs and comes back', async () => {
    const [id] = await rentSome(1)
    const [dead, living] = gateways.map(({ policies }) => policies)
    app.clock.advance(7 * hour)
    const [lease] = (await dead?.leaseDue(10)) ?? []
    expect(lease?.instanceId).toBe(id)
    expect(await living?.leaseDue(10)).toEqual([])
    app.clock.advance(30_001)
    const [second] = (await living?.leaseDue(10)) ?? []
    if (!lease || !second) throw new Error('Nothing was due.')
    await dead?.perform(lease)
    expect(await endEventsOf(Number(id))).toEqual([])
    await living?.perform(second)
    await living?.perform(second)
    expect((await endEventsOf(Number(id))).map(({ kind }) => kind)).toEqual(['INSTANCE_ENDING'])
  })
})
