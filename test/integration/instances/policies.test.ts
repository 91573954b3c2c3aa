// Policies of instances: Berth performs them, and ends charges on time even if it performs a policy late.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
import { transaction } from '../../../src/database/transaction.ts'
import { lockAccount } from '../../../src/services/billing/balance.ts'
import { chargeMeters } from '../../../src/services/billing/meters.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { openGateway } from '../../support/gateways.ts'
import { policiesOf } from '../../support/instances/policies.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

const hour = 3_600_000
const gpuRate = 400_000_000n
const diskRate = 4_000_000n

let app: TestApp
let rentals: Rentals
let key: string
let policies: ReturnType<typeof policiesOf>

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  policies = policiesOf(app, rentals, () => key)
})

beforeEach(async () => {
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const inHours = (hours: number) => new Date(app.clock.now().getTime() + hours * hour)

async function passHours(hours: number): Promise<void> {
  app.clock.advance(hours * hour)
  await rentals.converge()
}

/** Charges all meters up to now, like the daily charge, without performing any policy. */
async function chargeAll(): Promise<void> {
  const gateway = openGateway({ url: app.database.url, now: app.clock.now })
  const accounts = await app.sql('SELECT DISTINCT account_id AS id FROM meters')
  for (const { id } of accounts as { id: number }[]) {
    await transaction(gateway.database, async tx => {
      await chargeMeters(tx, await lockAccount(tx, id, app.clock.now()), Prisma.sql`true`)
    })
  }
  await gateway.close()
}

describe('stopAt', () => {
  it('stops an instance with a reason, and is cleared', async () => {
    const stopAt = inHours(3).toISOString()
    const id = await policies.run({ stopAt })
    expect(await policies.read(id)).toMatchObject({ policy: { stopAt, stopAtCost: null } })
    await passHours(3)
    expect(await policies.read(id)).toMatchObject({
      status: 'STOPPED',
      targetState: 'STOPPED',
      statusReason: { code: 'SCHEDULE' },
      policy: { stopAt: null },
    })
    expect(await policies.events(id, 'INSTANCE_TARGET_CHANGED', 'INSTANCE_POLICY_CHANGED')).toMatchObject([
      { kind: 'INSTANCE_TARGET_CHANGED', reason: 'SCHEDULE', by_berth: true, after: { targetState: 'stopped' } },
      {
        kind: 'INSTANCE_POLICY_CHANGED',
        reason: 'SCHEDULE',
        by_berth: true,
        before: { stopAt },
        after: { stopAt: null },
      },
    ])
    expect(await policies.setTargetState(id, 'RUNNING')).toMatchObject({ __typename: 'StartInstanceSuccess' })
    await passHours(5)
    expect(await policies.read(id)).toMatchObject({ status: 'RUNNING' })
    await policies.setTargetState(id, 'STOPPED')
  })

  it.each(['without a charge meanwhile', 'with a charge meanwhile'])(
    'ends the charges for GPUs on time, even if the stop is late: %s',
    async how => {
      const id = await policies.run()
      const stopAt = inHours(2)
      await policies.set(id, { stopAt: stopAt.toISOString() })
      app.clock.advance(30 * hour)
      if (how === 'with a charge meanwhile') await chargeAll()
      await rentals.converge()
      const { nanos, since, until } = await policies.charged(id, 'gpu')
      expect(until).toEqual(stopAt)
      expect(nanos).toBe((gpuRate * BigInt(stopAt.getTime() - (since?.getTime() ?? 0))) / 3_600_000n)
    },
  )

  it('counts in the credit of the account before the stop is performed', async () => {
    const id = await policies.run()
    await policies.set(id, { stopAt: inHours(2).toISOString() })
    app.clock.advance(30 * hour)
    const credit = async () => (await app.graphql(key, '{ viewer { account { credit } } }')).data.viewer.account.credit
    const before = await credit()
    await app.runUntilIdle()
    expect(await policies.read(id)).toMatchObject({ targetState: 'STOPPED' })
    expect(await credit()).toBe(before)
    // Two hours and some seconds of GPUs, and 30 hours of disk.
    expect(Number(before)).toBeGreaterThan(100 - 0.81 - 0.121)
  })

  it('ends the charges on time when the renter stops the instance before the late stop', async () => {
    const id = await policies.run()
    const stopAt = inHours(2)
    await policies.set(id, { stopAt: stopAt.toISOString() })
    app.clock.advance(30 * hour)
    await policies.setTargetState(id, 'STOPPED')
    expect((await policies.charged(id, 'gpu')).until).toEqual(stopAt)
  })

  it('stops an instance that is loading, and charges no GPUs', async () => {
    const id = await policies.rent({ stopAt: inHours(0.001).toISOString() })
    await app.runUntilIdle()
    expect(await policies.read(id)).toMatchObject({ status: 'LOADING' })
    await passHours(0.001)
    await passHours(1)
    expect(await policies.read(id)).toMatchObject({ status: 'STOPPED', statusReason: { code: 'SCHEDULE' } })
    expect(await policies.charged(id, 'gpu')).toMatchObject({ nanos: 0n })
  })

  it('stops an instance that waits for its GPUs', async () => {
    const terms = { interruptible: { bidPerHour: '0.3' } }
    const id = await policies.rent({ stopAt: inHours(2).toISOString() }, { terms })
    await rentals.converge()
    const [row] = await app.sql(`SELECT machine_id FROM instances WHERE id = ${id}`)
    const { machine_id: machineId } = row as { machine_id: number }
    const { body } = await app.rest(key, 'POST', '/bundles/', { machine_id: { eq: machineId }, type: 'bid' })
    await app.rest(key, 'PUT', `/asks/${body.offers[0].id}/`, { image: 'ubuntu', price: 0.35 })
    await rentals.converge()
    expect(await policies.read(id)).toMatchObject({ status: 'SCHEDULING' })
    await passHours(2)
    expect(await policies.read(id)).toMatchObject({ status: 'STOPPED', statusReason: { code: 'SCHEDULE' } })
  })

  it.each(['before it was cleared', 'after it was cleared'])(
    'does not stop an instance that is started after stopAt: %s',
    async how => {
      const id = await policies.run({ stopAt: inHours(2).toISOString() })
      await policies.setTargetState(id, 'STOPPED')
      await rentals.converge()
      app.clock.advance(3 * hour)
      if (how === 'after it was cleared') await app.runUntilIdle()
      await policies.setTargetState(id, 'RUNNING')
      await passHours(1)
      expect(await policies.read(id)).toMatchObject({ status: 'RUNNING', policy: { stopAt: null } })
      expect(await policies.events(id, 'INSTANCE_POLICY_CHANGED')).toMatchObject([{ reason: 'SCHEDULE' }])
      // The GPUs are charged again.
      await policies.setTargetState(id, 'STOPPED')
      expect((await policies.charged(id, 'gpu')).until).toEqual(app.clock.now())
    },
  )

  it('stops an instance that was stopped and started again before stopAt', async () => {
    const stopAt = inHours(4)
    const id = await policies.run({ stopAt: stopAt.toISOString() })
    await policies.setTargetState(id, 'STOPPED')
    await passHours(1)
    await policies.setTargetState(id, 'RUNNING')
    await rentals.converge()
    await passHours(9)
    expect(await policies.read(id)).toMatchObject({ status: 'STOPPED', statusReason: { code: 'SCHEDULE' } })
    expect((await policies.charged(id, 'gpu')).until).toEqual(stopAt)
  })

  it('does not take effect again when the clock steps back', async () => {
    const id = await policies.run({ stopAt: inHours(2).toISOString() })
    await passHours(3)
    await policies.setTargetState(id, 'RUNNING')
    await app.runUntilIdle()
    app.clock.advance(-2 * hour)
    await app.runUntilIdle()
    await passHours(4)
    expect(await policies.read(id)).toMatchObject({ status: 'RUNNING' })
    await policies.setTargetState(id, 'STOPPED')
  })
})

describe('stopAtCost', () => {
  const costOf = async (id: number) =>
    (await policies.charged(id, 'gpu')).nanos + (await policies.charged(id, 'disk')).nanos

  it.each(['without a charge meanwhile', 'with a charge meanwhile'])(
    'stops an instance at the last millisecond that it pays for: %s',
    async how => {
      const id = await policies.run({ stopAtCost: '1' })
      app.clock.advance(30 * hour)
      if (how === 'with a charge meanwhile') await chargeAll()
      await rentals.converge()
      expect(await policies.read(id)).toMatchObject({
        status: 'STOPPED',
        statusReason: { code: 'COST_LIMIT' },
        policy: { stopAtCost: '1' },
      })
      const { nanos, until, since } = await policies.charged(id, 'gpu')
      const [row] = await app.sql(`SELECT created_at AS at FROM instances WHERE id = ${id}`)
      const diskMs = (until?.getTime() ?? 0) - (row as { at: Date }).at.getTime()
      const cost = nanos + (diskRate * BigInt(diskMs)) / 3_600_000n
      const aMillisecond = (gpuRate + diskRate) / 3_600_000n + 2n
      expect(since).not.toBeNull()
      expect(cost).toBeLessThanOrEqual(1_000_000_000n)
      expect(cost).toBeGreaterThan(1_000_000_000n - aMillisecond)
    },
  )

  it('refuses a start once it is reached, until it is raised', async () => {
    const id = await policies.run({ stopAtCost: '0.5' })
    await passHours(10)
    const refusal = { __typename: 'InvalidStateError', code: 'INVALID_STATE' }
    const answer = await policies.setTargetState(id, 'RUNNING')
    expect(answer).toMatchObject(refusal)
    expect(answer.message).toMatch(/The instance has cost \$0\.\d+, and its policy stops it at a cost of \$0\.5\./)
    expect(await policies.set(id, { stopAtCost: '0.51' })).toMatchObject({
      code: 'INVALID_INPUT',
      issues: [{ path: 'stopAtCost', message: expect.stringMatching(/must be more than \$0\.5\d+/) }],
    })
    expect(await policies.set(id, { stopAtCost: '0.9' })).toMatchObject({ __typename: 'UpdateInstancePolicySuccess' })
    expect(await policies.setTargetState(id, 'RUNNING')).toMatchObject({ __typename: 'StartInstanceSuccess' })
    await rentals.converge()
    await passHours(10)
    expect(await policies.read(id)).toMatchObject({ status: 'STOPPED', statusReason: { code: 'COST_LIMIT' } })
    expect((await policies.charged(id, 'gpu')).nanos).toBeLessThan(900_000_000n)
    await policies.set(id, { stopAtCost: null })
    expect(await policies.setTargetState(id, 'RUNNING')).toMatchObject({ __typename: 'StartInstanceSuccess' })
    await passHours(10)
    expect(await policies.read(id)).toMatchObject({ status: 'RUNNING' })
    await policies.setTargetState(id, 'STOPPED')
  })

  it('counts the disk of a stopped instance, which then cannot start', async () => {
    const id = await policies.run({ stopAtCost: '0.1' })
    await policies.setTargetState(id, 'STOPPED')
    await passHours(26)
    expect(await policies.read(id)).toMatchObject({ status: 'STOPPED', statusReason: { code: 'USER_REQUEST' } })
    expect(await policies.setTargetState(id, 'RUNNING')).toMatchObject({ code: 'INVALID_STATE' })
    // Other instances in the same command still start.
    const other = await policies.rent({}, { spec: { source: { image: 'ubuntu' }, targetState: 'STOPPED' } })
    const { data } = await app.graphql(
      key,
      `mutation { startInstances(input: { target: { ids: ["${id}", "${other}"] } }) {
        ... on StartInstancesSuccess { items { outcome } } } }`,
    )
    expect(data.startInstances.items).toEqual([{ outcome: 'FAILED' }, { outcome: 'APPLIED' }])
    await app.rest(key, 'DELETE', `/instances/${other}/`)
  })

  it.each(['rented', 'started'])(
    'stops an instance that waits for its GPUs, by the cost of its disk: %s',
    async how => {
      const offerId = String(await rentals.newOffer())
      const terms = (bidPerHour: string) => ({ interruptible: { bidPerHour } })
      const inputFor = (targetState: string) => ({
        offerId,
        terms: terms('0.3'),
        spec: { source: { image: 'ubuntu' }, targetState, policy: { stopAtCost: '0.1' } },
      })
      const [offer] = await app.sql(`SELECT machine_id FROM offers WHERE id = ${offerId}`)
      const { machine_id: machineId } = offer as { machine_id: number }
      const outbid = async () => {
        const { body } = await app.rest(key, 'POST', '/bundles/', { machine_id: { eq: machineId }, type: 'bid' })
        const { status } = await app.rest(key, 'PUT', `/asks/${body.offers[0].id}/`, { image: 'ubuntu', price: 0.35 })
        expect(status).toBe(200)
        await rentals.converge()
      }
      const id = await policies.rent({}, inputFor(how === 'rented' ? 'RUNNING' : 'STOPPED'))
      await outbid()
      if (how === 'started') {
        await passHours(1)
        await policies.setTargetState(id, 'RUNNING')
      }
      await rentals.converge()
      expect(await policies.read(id)).toMatchObject({ status: 'SCHEDULING' })
      await passHours(26)
      expect(await policies.read(id)).toMatchObject({ status: 'STOPPED', statusReason: { code: 'COST_LIMIT' } })
      expect(await policies.charged(id, 'gpu')).toMatchObject({ nanos: 0n })
    },
  )

  it('is due sooner after a raised bid, and later after a lowered bid', async () => {
    const terms = { interruptible: { bidPerHour: '0.3' } }
    const id = await policies.run({ stopAtCost: '3' }, { terms })
    const due = async () => {
      const [row] = await app.sql(`SELECT policy_due_at AS at FROM instances WHERE id = ${id}`)
      return (row as { at: Date }).at
    }
    const bid = async (bidPerHour: string) => {
      await app.graphql(
        key,
        `mutation { updateInstanceBid(input: { id: "${id}", bidPerHour: "${bidPerHour}" }) { __typename } }`,
      )
      return await due()
    }
    const first = await due()
    app.clock.advance(hour)
    const sooner = await bid('0.6')
    expect(sooner.getTime()).toBeLessThan(first.getTime())
    const later = await bid('0.25')
    expect(later.getTime()).toBeGreaterThan(first.getTime())
    app.clock.advance(100 * hour)
    await rentals.converge()
    const gpu = await policies.charged(id, 'gpu')
    expect(gpu.until).toEqual(later)
    expect(await costOf(id)).toBeGreaterThan(2_900_000_000n)
    expect(gpu.nanos).toBeLessThan(3_000_000_000n)
  })
})

describe('destruction', () => {
  const destroyed = { status: 'DESTROYED', statusReason: { code: 'SCHEDULE' } }

  it.each(['RUNNING', 'STOPPED'])('happens at destroyAt, and ends all charges at that time: %s', async state => {
    const id = await policies.run()
    const destroyAt = inHours(3)
    await policies.set(id, { destroyAt: destroyAt.toISOString() })
    if (state === 'STOPPED') await policies.setTargetState(id, 'STOPPED')
    await rentals.converge()
    app.clock.advance(30 * hour)
    await chargeAll()
    await rentals.converge()
    expect(await policies.read(id)).toMatchObject(destroyed)
    expect((await policies.charged(id, 'disk')).until).toEqual(destroyAt)
    if (state === 'RUNNING') expect((await policies.charged(id, 'gpu')).until).toEqual(destroyAt)
    expect(await policies.events(id, 'INSTANCE_DESTROYED')).toMatchObject([{ reason: 'SCHEDULE', by_berth: true }])
  })

  it('skips an earlier stop when both the stop and the destruction are late', async () => {
    const id = await policies.run()
    const stopAt = inHours(2)
    const [destroyAt, stop] = [inHours(3).toISOString(), stopAt.toISOString()]
    await policies.set(id, { destroyAt, stopAt: stop })
    app.clock.advance(30 * hour)
    await rentals.converge()
    expect(await policies.events(id, 'INSTANCE_DESTROYED', 'INSTANCE_TARGET_CHANGED')).toHaveLength(1)
    expect((await policies.charged(id, 'gpu')).until).toEqual(stopAt)
  })

  it.each(['stopped', 'exited', 'created'])(
    'happens after destroyAfterStoppedSeconds of an instance that is %s',
    async status => {
      const spec = { source: { image: 'ubuntu' }, policy: { destroyAfterStoppedSeconds: 7200 }, targetState: 'STOPPED' }
      const id =
        status === 'created'
          ? await policies.rent({}, { spec })
          : await policies.run({ destroyAfterStoppedSeconds: 7200 })
      if (status === 'stopped') await policies.setTargetState(id, 'STOPPED')
      await rentals.converge()
      if (status === 'exited') await rentals.exit(id)
      const [row] = await app.sql(`SELECT status, status_changed_at AS since FROM instances WHERE id = ${id}`)
      const { since, ...seen } = row as { status: string; since: Date }
      expect(seen).toEqual({ status })
      const end = new Date(since.getTime() + 2 * hour)
      app.clock.advance(end.getTime() - app.clock.now().getTime() - 1)
      await app.runUntilIdle()
      expect(await policies.read(id)).toMatchObject({ status: status.toUpperCase() })
      app.clock.advance(9 * hour)
      await app.runUntilIdle()
      expect(await policies.read(id)).toMatchObject(destroyed)
      expect((await policies.charged(id, 'disk')).until).toEqual(end)
    },
  )

  it('ends the disk charges at its due time, even for an instance that ended on its own', async () => {
    const id = await policies.run({ destroyAfterStoppedSeconds: 3_600 })
    const gateway = openGateway({ url: app.database.url, now: app.clock.now })
    await app.sql(`UPDATE simulated_containers SET exit_code = 1 WHERE instance_id = ${id}`)
    app.clock.advance(61_000)
    // This gateway observes the end, but performs no policy.
    await gateway.idle()
    await gateway.close()
    const [row] = await app.sql(`SELECT status, status_changed_at AS at FROM instances WHERE id = ${id}`)
    const { status, at } = row as { status: string; at: Date }
    expect(status).toBe('exited')
    app.clock.advance(10 * 3_600_000)
    await app.runUntilIdle()
    expect((await policies.charged(id, 'disk')).until).toEqual(new Date(at.getTime() + 3_600_000))
  })

  it('counts the stopped time anew after a start, but not after a new bid', async () => {
    const id = await policies.run(
      { destroyAfterStoppedSeconds: 7200 },
      { terms: { interruptible: { bidPerHour: '0.3' } } },
    )
    await policies.setTargetState(id, 'STOPPED')
    await rentals.converge()
    await passHours(1.5)
    // No pass runs in between.
    await policies.setTargetState(id, 'RUNNING')
    await policies.setTargetState(id, 'STOPPED')
    await passHours(1.5)
    expect(await policies.read(id)).toMatchObject({ status: 'STOPPED' })
    await app.graphql(key, `mutation { updateInstanceBid(input: { id: "${id}", bidPerHour: "0.4" }) { __typename } }`)
    await passHours(0.6)
    expect(await policies.read(id)).toMatchObject(destroyed)
  })

  it('does not happen by destroyAfterStoppedSeconds while the instance runs', async () => {
    const id = await policies.run({ destroyAfterStoppedSeconds: 60 })
    await passHours(5)
    expect(await policies.read(id)).toMatchObject({ status: 'RUNNING' })
    await policies.setTargetState(id, 'STOPPED')
  })

  it('cannot be revoked once it is due', async () => {
    const id = await policies.run({ destroyAt: inHours(2).toISOString() })
    await policies.setTargetState(id, 'STOPPED')
    await rentals.converge()
    app.clock.advance(3 * hour)
    const refusal = {
      code: 'INVALID_STATE',
      message: 'The instance is about to be destroyed, because its policy or the end of its rental is due.',
    }
    expect(await policies.set(id, { destroyAt: null })).toMatchObject(refusal)
    expect(await policies.setTargetState(id, 'RUNNING')).toMatchObject(refusal)
    await app.runUntilIdle()
    expect(await policies.set(id, { destroyAt: null })).toMatchObject({ code: 'INVALID_STATE' })
  })
})

describe('stopping when idle', () => {
  async function passQuarters(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) {
      app.clock.advance(15_000)
      await app.runUntilIdle()
    }
  }

  it('stops an instance whose GPUs are idle, and again after the next start', async () => {
    const stopWhenIdle = { gpuBelowPercent: 5, forSeconds: 120 }
    const id = await policies.run(
      { stopWhenIdle },
      { spec: { source: { image: 'simulated/idle' }, policy: { stopWhenIdle } } },
    )
    for (let run = 1; run <= 2; run += 1) {
      await passQuarters(6)
      expect(await policies.read(id)).toMatchObject({ status: 'RUNNING', policy: { stopWhenIdle } })
      await passQuarters(4)
      await rentals.converge()
      expect(await policies.read(id)).toMatchObject({ status: 'STOPPED', statusReason: { code: 'IDLE' } })
      if (run === 2) break
      await policies.setTargetState(id, 'RUNNING')
      for (let turn = 0; turn < 4 && (await policies.read(id)).status !== 'RUNNING'; turn += 1) await passQuarters(1)
    }
    const { data } = await app.graphql(
      key,
      `{ events(filter: { subjectIds: ["ins_${id}"], kinds: [INSTANCE_TARGET_CHANGED] }, first: 1) { nodes {
        reason { code } actor { __typename } } } }`,
    )
    expect(data.events.nodes).toEqual([{ reason: { code: 'IDLE' }, actor: { __typename: 'SystemActor' } }])
  })

  it('leaves an instance alone whose machine is silent', async () => {
    const id = await policies.run(
      { stopWhenIdle: null },
      {
        spec: { source: { image: 'simulated/idle' }, policy: { stopWhenIdle: { gpuBelowPercent: 5, forSeconds: 60 } } },
      },
    )
    const [{ machine_id: machineId } = { machine_id: 0 }] = (await app.sql(
      'SELECT machine_id FROM instances WHERE id = $1',
      [Number(id)],
    )) as { machine_id: number }[]
    await app.operations.machines.unplug(machineId)
    await passQuarters(8)
    await app.operations.machines.plug(machineId)
    expect(await policies.read(id)).toMatchObject({ status: 'RUNNING', targetState: 'RUNNING' })
  })

  it('leaves an instance alone whose GPUs are busy', async () => {
    const id = await policies.run({ stopWhenIdle: { gpuBelowPercent: 40, forSeconds: 60 } })
    await passQuarters(8)
    expect(await policies.read(id)).toMatchObject({ status: 'RUNNING' })
    expect(await policies.set(id, { stopWhenIdle: { gpuBelowPercent: 101, forSeconds: 1 } })).toMatchObject({
      issues: [{ path: 'stopWhenIdle.gpuBelowPercent' }, { path: 'stopWhenIdle.forSeconds' }],
    })
    await policies.set(id, { stopWhenIdle: null })
    expect(await policies.read(id)).toMatchObject({ policy: { stopWhenIdle: null } })
  })
})

describe('setting a policy', () => {
  it('changes the named fields, removes the fields that are null, and records each change once', async () => {
    const [stopAt, destroyAt] = [inHours(5).toISOString(), inHours(9).toISOString()]
    const id = await policies.run({ stopAt })
    await policies.set(id, { destroyAt, destroyAfterStoppedSeconds: 3600, stopAtCost: '2.5' })
    const all = { stopAt, destroyAt, destroyAfterStoppedSeconds: 3600, stopAtCost: '2.5' }
    expect(await policies.read(id)).toMatchObject({ policy: all })
    // Equal values are no change.
    await policies.set(id, all)
    await policies.set(id, { stopAt: null, stopAtCost: null })
    expect(await policies.read(id)).toMatchObject({ policy: { ...all, stopAt: null, stopAtCost: null } })
    const answer = await app.graphql(
      key,
      `{ events(filter: { subjectIds: ["ins_${id}"], kinds: [INSTANCE_POLICY_CHANGED] }) { nodes {
        message reason { code } changes { field before after } } } }`,
    )
    const changed = { message: 'Instance policy changed.', reason: { code: 'USER_REQUEST' } }
    const changes: { field: string; before: string | null; after: string | null }[][] = [
      [
        { field: 'stopAtCost', before: null, after: '2.5' },
        { field: 'destroyAt', before: null, after: destroyAt },
        { field: 'destroyAfterStoppedSeconds', before: null, after: '3600' },
      ],
      [
        { field: 'stopAt', before: stopAt, after: null },
        { field: 'stopAtCost', before: '2.5', after: null },
      ],
    ]
    const nodes = answer.data.events.nodes.toSorted(
      (a: { changes: unknown[] }, b: { changes: unknown[] }) => b.changes.length - a.changes.length,
    )
    expect(nodes).toEqual(changes.map(each => ({ ...changed, changes: expect.arrayContaining(each) })))
    await policies.set(id, { destroyAt: null, destroyAfterStoppedSeconds: null })
    await passHours(12)
    expect(await policies.read(id)).toMatchObject({ status: 'RUNNING' })
    await policies.setTargetState(id, 'STOPPED')
    expect((await policies.charged(id, 'gpu')).until).toEqual(app.clock.now())
  })

  it('is refused with all its issues', async () => {
    const id = await policies.run()
    await passHours(2)
    await policies.setTargetState(id, 'STOPPED')
    await rentals.converge()
    await passHours(1)
    const answer = await policies.set(id, {
      stopAt: inHours(0).toISOString(),
      destroyAt: inHours(11 * 365 * 24).toISOString(),
      stopAtCost: '0.8',
      destroyAfterStoppedSeconds: 3600,
    })
    expect(answer).toMatchObject({
      code: 'INVALID_INPUT',
      issues: [
        { path: 'stopAt', message: expect.stringContaining('must be in the future') },
        {
          path: 'stopAtCost',
          message: expect.stringMatching(/^must be more than \$0\.8\d+, which the instance has already cost\.$/),
        },
        { path: 'destroyAt', message: 'must be within the next 10 years.' },
        { path: 'destroyAfterStoppedSeconds', message: expect.stringMatching(/^must be more than 3[67]\d\d seconds/) },
      ],
    })
    expect(await policies.set(id, { stopAtCost: '0', destroyAfterStoppedSeconds: 0 })).toMatchObject({
      issues: [{ path: 'stopAtCost' }, { path: 'destroyAfterStoppedSeconds' }],
    })
  })

  it('at rental has the same issues and warnings in the quote and in the rental', async () => {
    const policy = { stopAt: inHours(0).toISOString(), stopAtCost: '-1', destroyAfterStoppedSeconds: -1 }
    const paths = ['spec.policy.stopAt', 'spec.policy.stopAtCost', 'spec.policy.destroyAfterStoppedSeconds']
    const issues = paths.map(path => ({ path, message: expect.stringContaining('must be') }))
    expect(await policies.tryRent(policy)).toMatchObject({ code: 'INVALID_INPUT', issues })
    const quote = async (quoted: object) => {
      const input = { offerId: String(await rentals.newOffer()), spec: { source: { image: 'ubuntu' }, policy: quoted } }
      const { data } = await app.graphql(
        key,
        `query ($input: RentInstanceInput!) { rentQuote(input: $input) { rentable warnings blockers { code
          ... on InvalidInputError { issues { path message } } } } }`,
        { input },
      )
      return data.rentQuote
    }
    expect(await quote(policy)).toMatchObject({ rentable: false, blockers: [{ code: 'INVALID_INPUT', issues }] })
    const late = { destroyAt: inHours(9 * 365 * 24).toISOString() }
    const warnings = [expect.stringContaining('destroyAt is after the end of the rental')]
    expect(await quote(late)).toMatchObject({ rentable: true, warnings: expect.arrayContaining(warnings) })
    expect(await policies.tryRent(late)).toMatchObject({ warnings: expect.arrayContaining(warnings) })
  })

  it('at rental is part of the idempotent request', async () => {
    const offerId = String(await rentals.newOffer())
    const stopAt = inHours(1).toISOString()
    const inputFor = (policy: object) => ({
      offerId,
      idempotencyKey: 'policy',
      spec: { source: { image: 'ubuntu' }, policy },
    })
    const first = await policies.tryRent({}, inputFor({ stopAt }))
    expect(first).toMatchObject({ replayed: false, instance: { policy: { stopAt } } })
    await passHours(2)
    expect(await policies.tryRent({}, inputFor({ stopAt, destroyAt: null }))).toMatchObject({ replayed: true })
    expect(await policies.tryRent({}, inputFor({ stopAt: inHours(1).toISOString() }))).toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
    })
  })

  it('works with rentBestOffer', async () => {
    await rentals.newOffer()
    const { data } = await app.graphql(
      key,
      `mutation { rentBestOffer(input: { filter: {}, terms: { onDemand: { maxPricePerHour: "1" } },
        spec: { source: { image: "ubuntu" }, policy: { stopAtCost: "3" } } }) {
        ... on RentBestOfferSuccess { instance { policy { stopAtCost } } } ... on Error { message } } }`,
    )
    expect(data.rentBestOffer).toEqual({ instance: { policy: { stopAtCost: '3' } } })
  })
})
