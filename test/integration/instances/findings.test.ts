// How findings of the reconciler are recorded after a restart, a destruction or another command.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { emptyEnvironment, type Port } from '../../../src/domain/launch/env.ts'
import type { LaunchInput } from '../../../src/domain/launch/launch.ts'
import { wholeInstance } from '../../../src/services/instances/source.ts'
import type { Finding } from '../../../src/services/reconciliation/finding.ts'
import type { InstanceLease } from '../../../src/services/reconciliation/leases.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let actor: Actor
let machines = 0

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
  actor = await gateway.newActor()
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

/** Rents the only GPU of a new machine. */
async function rent(launch: LaunchInput): Promise<bigint> {
  await listMachines(gateway.operations, [{}])
  machines += 1
  const [offer] = await gateway.sql('SELECT id FROM offers WHERE machine_id = $1', [machines])
  return (await gateway.rent(actor, BigInt(offer?.['id'] as string), { launch })).id
}

async function rentWithPorts(count: number): Promise<bigint> {
  const ports = Array.from({ length: count }, (_, index): Port => {
    return { hostPort: 8_000 + index, containerPort: 8_000 + index, protocol: 'tcp' }
  })
  return await rent({ environment: { ...emptyEnvironment(), ports } })
}

async function idle(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) {
    await gateway.idle()
    clock.advance(31_000)
  }
  await gateway.idle()
}

async function leaseOf(id: bigint): Promise<InstanceLease> {
  await gateway.sql('UPDATE instance_looks SET due_at = $2, leased_until = NULL WHERE instance_id = $1', [
    id,
    clock.now(),
  ])
  const lease = (await gateway.reconciliation.leaseDue(100)).find(({ instanceId }) => instanceId === id)
  if (!lease) throw new Error(`Instance ${id} is not due.`)
  return lease
}

const statusOf = (id: bigint) =>
  gateway.sql('SELECT status, reason_code, reason_message, exit_code, status_changed_at FROM instances WHERE id = $1', [
    id,
  ])
const kindsOf = async (id: bigint) =>
  (await gateway.sql('SELECT kind FROM events WHERE instance_id = $1 ORDER BY id', [id])).map(({ kind }) => kind)
const roomOf = async (machineId: number) =>
  (await gateway.sql('SELECT free_disk_mb, free_ports FROM machines WHERE id = $1', [machineId]))[0]

const quietFinding = { answered: true, seenAt: null, unconfirmed: false, needsRetry: false }
const goneFinding: Finding = {
  status: 'stopped',
  reason: undefined,
  ran: false,
  usesGpus: false,
  gone: true,
  dueAt: null,
  ...quietFinding,
}

const found = (status: Finding['status']): Finding => ({
  ...{ status, reason: undefined, ran: status === 'running', usesGpus: true, gone: false, dueAt: null },
  ...quietFinding,
})
/** After this, the same is desired as before. */
async function changeTwice(id: bigint): Promise<void> {
  for (const targetState of ['stopped', 'running'] as const)
    await gateway.services.instances.update(actor, { ids: [id] }, { targetState })
}
const gpuRateOf = async (id: bigint) =>
  (await gateway.sql("SELECT rate_nanos FROM meters WHERE instance_id = $1 AND kind = 'gpu'", [id]))[0]

describe('a pass that began before a restart was requested', () => {
  it.each(['reboot', 'recycle'] as const)('keeps the pending %s', async kind => {
    const id = await rentWithPorts(0)
    await idle()
    const lease = await leaseOf(id)
    await gateway.services.instances[kind](actor, id)
    const runs = { ...goneFinding, status: 'running' as const, ran: true, usesGpus: true, gone: false }
    await gateway.reconciliation.record(lease, { ...runs, restart: null, dueAt: null })
    const [row] = await gateway.sql(
      'SELECT restart, due_at FROM instances JOIN instance_looks ON instance_id = id WHERE id = $1',
      [id],
    )
    expect(row).toMatchObject({ restart: kind, due_at: clock.now() })
    await idle()
    expect(await gateway.sql('SELECT status, restart FROM instances WHERE id = $1', [id])).toEqual([
      { status: 'running', restart: null },
    ])
  })
})

describe('a pass over a destroyed instance', () => {
  it('keeps the status and the reason of the instance, and records no status event', async () => {
    const id = await rentWithPorts(0)
    await idle()
    await gateway.services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
    await idle()
    await gateway.services.instances.destroy(actor, { ids: [id] })
    const [before, kinds] = [await statusOf(id), await kindsOf(id)]
    expect(before).toMatchObject([{ status: 'stopped', reason_code: 'USER_REQUEST' }])
    await idle()
    expect(await statusOf(id)).toEqual(before)
    expect(await kindsOf(id)).toEqual([...kinds, 'INSTANCE_REMOVED'])
  })

  it('keeps the status of the instance when another status is observed', async () => {
    const id = await rentWithPorts(0)
    await idle()
    await gateway.services.instances.destroy(actor, { ids: [id] })
    const [before, kinds] = [await statusOf(id), await kindsOf(id)]
    const reason = { code: 'EXITED' as const, message: 'It ended.', exitCode: 3 }
    await gateway.reconciliation.record(await leaseOf(id), { ...goneFinding, status: 'exited', reason, gone: false })
    expect(await statusOf(id)).toEqual(before)
    expect(await kindsOf(id)).toEqual(kinds)
  })

  it('frees the disk and ports of the instance once, however often its container is found gone', async () => {
    const id = await rentWithPorts(3)
    expect(await roomOf(machines)).toEqual({ free_disk_mb: 892_000, free_ports: 96 })
    await gateway.services.instances.destroy(actor, { ids: [id] })
    // Another rental takes room, so that a second release would show.
    const [offer] = await gateway.sql('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL', [
      machines,
    ])
    await gateway.rent(actor, BigInt(offer?.['id'] as string), { launch: { mode: 'sshDirect', diskGb: 100 } })
    for (let pass = 1; pass <= 2; pass += 1) {
      await gateway.reconciliation.record(await leaseOf(id), goneFinding)
      expect(await roomOf(machines)).toEqual({ free_disk_mb: 800_000, free_ports: 99 })
    }
    expect((await kindsOf(id)).filter(kind => kind === 'INSTANCE_REMOVED')).toHaveLength(1)
  })

  it('keeps the secrets of the instance until its container is gone', async () => {
    const id = await rent({
      registry: { host: 'ghcr.io', username: 'me', password: 'hidden' },
      environment: { ...emptyEnvironment(), env: [{ name: 'TOKEN', value: 'hidden', secret: true }] },
    })
    const kept = async () =>
      (
        await gateway.sql('SELECT num_nonnulls(registry_login, secret_env) AS kept FROM instances WHERE id = $1', [id])
      )[0]
    await gateway.services.instances.destroy(actor, { ids: [id] })
    await gateway.reconciliation.record(await leaseOf(id), { ...goneFinding, gone: false })
    expect(await kept()).toEqual({ kept: 2 })
    await gateway.reconciliation.record(await leaseOf(id), goneFinding)
    expect(await kept()).toEqual({ kept: 0 })
    const [instance] = await gateway.services.instances.byIds(actor, [id], wholeInstance)
    expect(instance?.launch.env).toEqual([{ name: 'TOKEN', value: '', secret: true }])
  })
})

describe('a finding from before a command', () => {
  it('changes neither the status nor its reason, records no event, and leaves the next pass due', async () => {
    const id = await rentWithPorts(0)
    await idle()
    const lease = await leaseOf(id)
    clock.advance(1_000)
    await gateway.services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
    const dueAt = async () =>
      (await gateway.sql('SELECT due_at, leased_until FROM instance_looks WHERE instance_id = $1', [id]))[0]
    const [before, kinds] = [await statusOf(id), await kindsOf(id)]
    expect(before).toMatchObject([{ status: 'running', reason_code: 'STARTED' }])
    const commandedAt = clock.now()
    clock.advance(1_000)
    const reason = { code: 'EXITED' as const, message: 'It ended.', exitCode: 3 }
    const inAnHour = new Date(clock.now().getTime() + 3_600_000)
    await gateway.reconciliation.record(lease, {
      ...goneFinding,
      status: 'stopped',
      reason,
      gone: false,
      dueAt: inAnHour,
    })
    expect(await statusOf(id)).toEqual(before)
    expect(await kindsOf(id)).toEqual(kinds)
    expect(await dueAt()).toEqual({ due_at: commandedAt, leased_until: null })
    await idle()
    expect(await statusOf(id)).toMatchObject([{ status: 'stopped', reason_code: 'USER_REQUEST' }])
  })

  it('charges a container that runs and should, whatever changes before each pass is over', async () => {
    const id = await rent({})
    const price = (await gateway.sql('SELECT gpu_price_nanos FROM instances WHERE id = $1', [id]))[0]
    const beforeChange = await leaseOf(id)
    await changeTwice(id)
    await gateway.reconciliation.record(beforeChange, found('running'))
    expect(await gpuRateOf(id)).toEqual({ rate_nanos: price?.['gpu_price_nanos'] })

    // The command has ended the charge, but not the container.
    const beforeStop = await leaseOf(id)
    await changeTwice(id)
    expect(await gpuRateOf(id)).toEqual({ rate_nanos: '0' })
    await gateway.reconciliation.record(beforeStop, found('running'))
    expect(await gpuRateOf(id)).toEqual({ rate_nanos: price?.['gpu_price_nanos'] })
    await idle()
  })

  it('ends an instance that does not start, whatever changes before each pass is over, and leaves the next pass due', async () => {
    const id = await rent({})
    const lease = await leaseOf(id)
    await changeTwice(id)
    const reason = { code: 'START_TIMEOUT' as const, message: 'It took too long.' }
    await gateway.reconciliation.record(lease, { ...found('exited'), reason, dueAt: null })
    expect(await statusOf(id)).toMatchObject([{ status: 'exited', reason_code: 'START_TIMEOUT' }])
    await idle()
    expect(await gateway.sql('SELECT FROM gpus WHERE holder_id = $1', [id])).toEqual([])
  })

  it('does not end a recycle that a new launch asks for again', async () => {
    const id = await rent({})
    await idle()
    await gateway.services.instances.recycle(actor, id)
    const lease = await leaseOf(id)
    await gateway.services.instances.changeLaunch(actor, id, { launch: { image: 'debian:12' }, recycle: true })
    await gateway.reconciliation.record(lease, { ...found('loading'), restart: 'anew' })
    const [row] = await gateway.sql('SELECT restart FROM instances WHERE id = $1', [id])
    expect(row).toEqual({ restart: 'recycle' })
    await idle()
  })

  it('counts as none if the machine did not answer, which may be back since', async () => {
    const id = await rent({})
    const lease = await leaseOf(id)
    await changeTwice(id)
    await gateway.reconciliation.record(lease, { ...found('offline'), answered: false })
    expect(await statusOf(id)).toMatchObject([{ status: 'created' }])
    await idle()
  })

  it('starts no charge for a container that a pass brings down, although its instance was started meanwhile', async () => {
    const id = await rent({})
    await idle()
    await gateway.services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
    const lease = await leaseOf(id)
    await gateway.services.instances.update(actor, { ids: [id] }, { targetState: 'running' })
    await gateway.reconciliation.record(lease, { ...found('stopping'), ran: true })
    expect(await gpuRateOf(id)).toEqual({ rate_nanos: '0' })
    await idle()
  })

  it('starts no charge for the GPUs of an instance that was stopped meanwhile', async () => {
    const id = await rent({})
    const lease = await leaseOf(id)
    await gateway.services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
    await gateway.reconciliation.record(lease, found('running'))
    expect(await gpuRateOf(id)).toEqual({ rate_nanos: '0' })
    await idle()
  })
})

it('makes an instance due on a new target state, but not on a new label', async () => {
  const id = await rentWithPorts(0)
  const dueStateOf = async () =>
    (await gateway.sql('SELECT generation, due_at FROM instance_looks WHERE instance_id = $1', [id]))[0]
  await idle()
  const before = await dueStateOf()
  clock.advance(1_000)
  const { instances } = gateway.services
  await instances.update(actor, { ids: [id] }, { label: 'another' })
  expect(await dueStateOf()).toEqual(before)
  await instances.update(actor, { ids: [id] }, { targetState: 'stopped', label: 'third' })
  expect(await dueStateOf()).toMatchObject({ due_at: clock.now() })
  expect((await dueStateOf())?.['generation']).toBeGreaterThan(before?.['generation'] as number)
})

describe('a finding of a lease that has ended', () => {
  it('is not recorded beside one of the current lease, and its GPUs are not marked', async () => {
    const id = await rent({})
    const old = await leaseOf(id)
    clock.advance(31_000)
    const current = await leaseOf(id)
    const { occupyGpus, record } = gateway.reconciliation
    expect(await Promise.all([occupyGpus(current), occupyGpus(old)])).toEqual([true, false])
    await Promise.all([record(current, found('loading')), record(old, found('running'))])
    expect(await statusOf(id)).toMatchObject([{ status: 'loading' }])
    expect(await gpuRateOf(id)).toEqual({ rate_nanos: '0' })
    await idle()
  })
})
