// Volumes of a rental, and the constraints of the database on them.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transaction } from '../../../src/database/transaction.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import type { ContainerSpec } from '../../../src/domain/instances/containers.ts'
import type { VolumeMount } from '../../../src/domain/launch/env.ts'
import type { Machine } from '../../../src/domain/machines/machines.ts'
import { lockMachine } from '../../../src/services/machines/lock.ts'
import type { InstanceLease } from '../../../src/services/reconciliation/leases.ts'
import { attachVolumes, createMountedVolumes, loadVolumeFacts } from '../../../src/services/volumes/rent.ts'
import { wholeVolume } from '../../../src/services/volumes/volumes.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { waitForLockWaiters, withSession } from '../../support/database/sessions.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
const specs = new Map<bigint, ContainerSpec>()
let testDatabase: TestDatabase
let gateway: Gateway
let actor: Actor
let stranger: Actor
let machines = 0

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({
    url: testDatabase.url,
    now: clock.now,
    wrapProvider: provider => ({
      ...provider,
      ensure(spec, signal) {
        specs.set(spec.instanceId, spec)
        return provider.ensure(spec, signal)
      },
    }),
  })
  actor = await gateway.newActor()
  stranger = await gateway.newActor()
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

const inTransaction = <Result>(run: Parameters<typeof transaction<Result>>[1]) => transaction(gateway.database, run)

async function newMachine(): Promise<number> {
  await listMachines(gateway.operations, [{ machine: { numGpus: 2 } }])
  machines += 1
  return machines
}

async function createVolume(machineId: number, owner = actor): Promise<bigint> {
  const { volume } = await gateway.services.volumes.create(owner, { machineId, sizeGb: 10 })
  return volume.id
}

/** Rents one GPU of a machine. */
async function rent(machineId: number, owner = actor) {
  const [offer] = await gateway.sql(
    'SELECT id FROM offers WHERE machine_id = $1 AND num_gpus = 1 AND rentable AND withdrawn_at IS NULL ORDER BY id',
    [machineId],
  )
  return await gateway.rent(owner, BigInt(offer?.['id'] as string))
}

const attach = (instance: { id: bigint; machineId: number; accountId: number }, ...mounts: VolumeMount[]) =>
  inTransaction(tx => attachVolumes(tx, instance, mounts))

async function runUntilIdle(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) {
    await gateway.idle()
    clock.advance(31_000)
  }
  await gateway.idle()
}

const dataMount = (volumeId: bigint): VolumeMount => ({ volumeId, mountPath: '/data' })

describe('new volumes of a rental', () => {
  it('belong to the renter, keep the order of their mounts, and do not change the free disk', async () => {
    const machineId = await newMachine()
    const newVolumes = [
      { name: 'b', sizeGb: 20, mountPath: '/b' },
      { name: undefined, sizeGb: 1.5, mountPath: '/a' },
    ]
    const mounts = await inTransaction(async tx => {
      const machine = (await lockMachine(tx, machineId)) as Machine
      return await createMountedVolumes(tx, actor, machine, newVolumes, clock.now())
    })
    expect(mounts.map(({ mountPath }) => mountPath)).toEqual(['/b', '/a'])
    const made = await Promise.all(
      mounts.map(({ volumeId }) => gateway.services.volumes.byIds(actor, [volumeId], wholeVolume)),
    )
    const facts = {
      accountId: actor.accountId,
      machineId,
      createdAt: clock.now(),
      diskPricePerGbMonthNanos: 360_000_000n,
    }
    expect(made.flat()).toMatchObject([
      { ...facts, name: 'b', sizeMb: 20_000, diskNanos: 10_000_000n },
      { ...facts, name: 'volume', sizeMb: 1_500, diskNanos: 750_000n },
    ])
    const [machine] = await gateway.sql('SELECT free_disk_mb FROM machines WHERE id = $1', [machineId])
    expect(machine).toEqual({ free_disk_mb: 900_000 })
    const events = await gateway.sql(`SELECT after FROM events WHERE kind = 'VOLUME_CREATED' ORDER BY id DESC LIMIT 2`)
    const named = events.map(({ after }) => (after as { volumeId: string }).volumeId).toReversed()
    expect(named).toEqual(mounts.map(({ volumeId }) => String(volumeId)))
  })
})

describe('requested volumes', () => {
  it('are found with their instance, unless they are deleted or of another account', async () => {
    const machineId = await newMachine()
    const [free, used, deleted] = [
      await createVolume(machineId),
      await createVolume(machineId),
      await createVolume(machineId),
    ]
    const foreign = await createVolume(machineId, stranger)
    await gateway.services.volumes.delete(actor, deleted)
    const instance = await rent(machineId)
    await attach(instance, dataMount(used))
    const requested = [foreign, used, 999n, deleted, free]
    const found = () => inTransaction(tx => loadVolumeFacts(tx, actor, requested))
    const facts = { machineId, removing: false }
    expect(await found()).toEqual([
      { ...facts, id: free, instanceId: null },
      { ...facts, id: used, instanceId: instance.id },
    ])
    await gateway.services.instances.destroy(actor, { ids: [instance.id] })
    expect(await found()).toMatchObject([{ id: free }, { id: used, instanceId: instance.id, removing: true }])
    await runUntilIdle()
    expect(await found()).toMatchObject([{ id: free }, { id: used, instanceId: null, removing: false }])
  })

  it('are read only after another transaction releases their lock', async () => {
    const id = await createVolume(await newMachine())
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM volumes WHERE id = $1 FOR UPDATE', [id])
      let isDone = false
      const finding = inTransaction(tx => loadVolumeFacts(tx, actor, [id])).finally(() => {
        isDone = true
      })
      await waitForLockWaiters(session, () => isDone)
      expect(isDone).toBe(false)
      await session.query('ROLLBACK')
      expect(await finding).toHaveLength(1)
    })
  })
})

describe('an instance', () => {
  it('has its volumes in its container, and keeps them until the container is gone', async () => {
    const machineId = await newMachine()
    const [first, second] = [await createVolume(machineId), await createVolume(machineId)]
    const instance = await rent(machineId)
    await attach(instance, { volumeId: second, mountPath: '/b' }, { volumeId: first, mountPath: '/a' })
    await runUntilIdle()
    expect(specs.get(instance.id)?.volumes).toEqual([
      { volumeId: first, mountPath: '/a' },
      { volumeId: second, mountPath: '/b' },
    ])
    const [other, third] = [await rent(machineId), await createVolume(machineId)]
    await attach(other, dataMount(third))
    const released = () =>
      gateway.sql('SELECT released_at FROM volume_attachments WHERE instance_id = $1', [instance.id])
    await gateway.services.instances.destroy(actor, { ids: [instance.id] })
    expect(await released()).toEqual([{ released_at: null }, { released_at: null }])
    await runUntilIdle()
    const [row] = await gateway.sql('SELECT removed_at FROM instances WHERE id = $1', [instance.id])
    expect(row?.['removed_at']).toBeInstanceOf(Date)
    expect(await released()).toEqual(Array(2).fill({ released_at: row?.['removed_at'] }))
    // Its container no longer gets released volumes, and other instances keep theirs.
    const specOf = ({ id }: { id: bigint }) => gateway.reconciliation.loadSpec({ instanceId: id } as InstanceLease)
    expect((await specOf(instance)).volumes).toEqual([])
    expect((await specOf(other)).volumes).toEqual([dataMount(third)])
  })

  it('releases its volumes for the next instance', async () => {
    const machineId = await newMachine()
    const id = await createVolume(machineId)
    const first = await rent(machineId)
    await attach(first, dataMount(id))
    await gateway.services.instances.destroy(actor, { ids: [first.id] })
    await runUntilIdle()
    const second = await rent(machineId)
    await attach(second, dataMount(id))
    const [volume] = await gateway.services.volumes.byIds(actor, [id], { attachment: true })
    expect(volume?.attachment).toEqual({ instanceId: second.id, mountPath: '/data' })
  })

  it('has no volumes in its container if it was rented without', async () => {
    const { id } = await rent(await newMachine())
    await runUntilIdle()
    expect(specs.get(id)?.volumes).toEqual([])
  })
})

describe('the database', () => {
  it('attaches a volume to one instance only', async () => {
    const machineId = await newMachine()
    const id = await createVolume(machineId)
    const [first, second] = [await rent(machineId), await rent(machineId)]
    await attach(first, dataMount(id))
    await expect(attach(second, dataMount(id))).rejects.toThrow('volume_attachments_one_instance')
    // A destroyed instance keeps its volumes until its container is gone.
    await gateway.services.instances.destroy(actor, { ids: [first.id] })
    await expect(attach(second, dataMount(id))).rejects.toThrow('volume_attachments_one_instance')
  })

  it('attaches no volume of another machine', async () => {
    const instance = await rent(await newMachine())
    const id = await createVolume(await newMachine())
    const elsewhere = { ...instance, machineId: machines }
    await expect(attach(instance, dataMount(id))).rejects.toThrow(
      'volume_attachments_volume_id_machine_id_account_id_fkey',
    )
    await expect(attach(elsewhere, dataMount(id))).rejects.toThrow(
      'volume_attachments_instance_id_machine_id_account_id',
    )
  })

  it('attaches no volume of another account', async () => {
    const machineId = await newMachine()
    const instance = await rent(machineId)
    const id = await createVolume(machineId, stranger)
    const theirs = { ...instance, accountId: stranger.accountId }
    await expect(attach(instance, dataMount(id))).rejects.toThrow(
      'volume_attachments_volume_id_machine_id_account_id_fkey',
    )
    await expect(attach(theirs, dataMount(id))).rejects.toThrow('volume_attachments_instance_id_machine_id_account_id')
  })

  it('deletes no volume of an instance that is not destroyed', async () => {
    const machineId = await newMachine()
    const id = await createVolume(machineId)
    const instance = await rent(machineId)
    await attach(instance, dataMount(id))
    const deleting = () => gateway.sql('UPDATE volumes SET deleted_at = now() WHERE id = $1', [id])
    await expect(deleting()).rejects.toThrow(`volume ${id} is attached`)
    await gateway.services.instances.destroy(actor, { ids: [instance.id] })
    await deleting()
  })

  it('attaches no deleted volume', async () => {
    const machineId = await newMachine()
    const id = await createVolume(machineId)
    const instance = await rent(machineId)
    await gateway.services.volumes.delete(actor, id)
    await expect(attach(instance, dataMount(id))).rejects.toThrow(`volume ${id} is deleted`)
  })
})
