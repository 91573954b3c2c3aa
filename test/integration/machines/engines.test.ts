import pino, { type Logger } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import type { Engine } from '../../../src/domain/machines/engines.ts'
import type { EngineFacts } from '../../../src/domain/machines/inspection.ts'
import { createDockerProvider } from '../../../src/providers/docker/provider.ts'
import { MachineUnreachable } from '../../../src/providers/provider.ts'
import { engineChangeServices } from '../../../src/services/machines/engines/changes.ts'
import { engineOperations } from '../../../src/services/machines/engines/connect.ts'
import { engineServices } from '../../../src/services/machines/engines/engines.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
const secrets = createSecrets('a secret of tests')
const socket: Omit<Engine, 'mark'> = { url: 'unix:///run/engine.sock', tls: null, gpuAccess: 'none', gpuUuids: [] }
const remote = { ...socket, url: 'tcp://host.example.com:2376', tls: { ca: 'ca', cert: 'cert', key: 'a private key' } }
let testDatabase: TestDatabase
let gateway: Gateway
let actor: Actor
let machineId = 0
let facts: EngineFacts

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now, delayFactor: 0 })
  actor = await gateway.newActor()
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

beforeEach(async () => {
  machineId += 1
  await listMachines(gateway.operations, [{ machine: { publicIp: `203.0.113.${machineId}` } }])
  facts = {
    ...{ identity: `engine-${machineId}`, version: '28.0.0', cpuCores: 64, cpuRamMb: 257_000, cpuArch: 'amd64' },
    gpuAccesses: ['none', 'nvidia'],
    limitsDisk: true,
    clockAheadMs: 0,
  }
})

const operations = () => {
  const deps = { database: gateway.database, secrets: async () => secrets, inspectEngine: async () => facts }
  return engineOperations(deps)
}
const engines = (log: Logger = pino({ level: 'silent' })) =>
  engineServices({ database: gateway.database, secrets, log })
const engineOf = async (id = machineId) => await engines().current(id)

async function rent(): Promise<bigint> {
  const [offer] = await gateway.sql('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL', [machineId])
  const { id } = await gateway.rent(actor, BigInt(offer?.['id'] as string))
  await gateway.idle()
  return id
}

const dueAt = async (id: bigint) =>
  (await gateway.sql('SELECT due_at FROM instance_looks WHERE instance_id = $1', [id]))[0]?.['due_at']

const changes = () => engineChangeServices({ database: gateway.database })

async function createVolume(): Promise<bigint> {
  const { volume } = await gateway.services.volumes.create(actor, { machineId, sizeGb: 1 })
  return volume.id
}

const deleteVolume = (id: bigint) => gateway.services.volumes.delete(actor, id)

describe('a machine', () => {
  it('is simulated until it is connected, and after it is disconnected', async () => {
    expect(await engineOf()).toBeUndefined()
    expect(await operations().connect(machineId, socket)).toEqual(facts)
    expect(await engineOf()).toEqual({ ...socket, mark: expect.stringMatching(/^[0-9a-f]{8}$/) })
    await operations().disconnect(machineId)
    expect(await engineOf()).toBeUndefined()
  })

  it('limits the disks of its instances while it is simulated, and else if its engine does', async () => {
    const shown = async () => (await gateway.operations.machines.byId(machineId)).limitsDisk
    expect(await shown()).toBe(true)
    facts = { ...facts, limitsDisk: false }
    await operations().connect(machineId, socket)
    expect(await shown()).toBe(false)
    facts = { ...facts, limitsDisk: true }
    await operations().connect(machineId, socket)
    expect(await shown()).toBe(true)
    facts = { ...facts, limitsDisk: false }
    await operations().connect(machineId, socket)
    await operations().disconnect(machineId)
    expect(await shown()).toBe(true)
  })

  it('keeps the certificates of its engine encrypted', async () => {
    await operations().connect(machineId, remote)
    expect(await engineOf()).toMatchObject(remote)
    const [row] = await gateway.sql('SELECT tls FROM engines WHERE machine_id = $1', [machineId])
    expect(String(row?.['tls'])).not.toContain('private')
  })

  it('whose certificates cannot be decrypted is unreachable, and the others go on', async () => {
    await operations().connect(machineId, socket)
    const other = machineId
    machineId += 1
    await listMachines(gateway.operations, [{ machine: { publicIp: `203.0.113.${machineId}` } }])
    facts = { ...facts, identity: 'damaged engine' }
    await operations().connect(machineId, remote)
    await gateway.sql(`UPDATE engines SET tls = '\\x00' WHERE machine_id = $1`, [machineId])
    const lines: { level: number; machineId: number; msg: string }[] = []
    const read = engines(pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }))
    expect(await read.current(other)).toMatchObject(socket)
    const { url } = await read.of(machineId)
    const driver = createDockerProvider({
      ...{ engineOf: read.of, readToolbox: async () => Buffer.alloc(0), now: clock.now },
      log: pino({ level: 'silent' }),
    })
    expect(url).toBe(remote.url)
    await expect(driver.inventory(machineId, AbortSignal.timeout(5_000))).rejects.toThrow(MachineUnreachable)
    await read.current(machineId)
    const message =
      'The certificates of an engine cannot be decrypted, so that its machine is unreachable. Connect it again with "machine connect".'
    expect(lines).toEqual([expect.objectContaining({ level: 50, machineId, msg: message })])
    await operations().connect(machineId, remote)
    expect(await read.current(machineId)).toMatchObject(remote)
  })

  it('is neither connected nor disconnected while it has instances', async () => {
    const id = await rent()
    const inUse = {
      code: 'INVALID_STATE',
      message: expect.stringContaining(`Machine ${machineId} still has 1 instance`),
    }
    await expect(operations().connect(machineId, socket)).rejects.toMatchObject(inUse)
    await gateway.services.instances.destroy(actor, { ids: [id] }, {})
    await gateway.idle()
    await operations().connect(machineId, socket)
    await rent()
    await expect(operations().disconnect(machineId)).rejects.toMatchObject(inUse)
  })

  it('may reach its engine by another address while it has instances, and keeps its mark', async () => {
    await operations().connect(machineId, socket)
    const before = await engineOf()
    await rent()
    await operations().connect(machineId, remote)
    expect(await engineOf()).toEqual({ ...remote, mark: before?.mark })
    facts = { ...facts, identity: 'another engine' }
    await expect(operations().connect(machineId, remote)).rejects.toMatchObject({ code: 'INVALID_STATE' })
  })

  it('keeps its GPUs while it has instances', async () => {
    const withGpu = { ...socket, gpuAccess: 'nvidia' as const, gpuUuids: ['GPU-0000'] }
    await operations().connect(machineId, withGpu)
    await rent()
    const other = operations().connect(machineId, { ...withGpu, gpuUuids: ['GPU-1111'] })
    await expect(other).rejects.toMatchObject({ code: 'INVALID_STATE' })
    await operations().connect(machineId, { ...withGpu, url: 'unix:///run/moved.sock' })
    expect(await engineOf()).toMatchObject({ ...withGpu, url: 'unix:///run/moved.sock' })
  })

  it('keeps its engine until the data of its deleted volumes is removed', async () => {
    await operations().connect(machineId, socket)
    await deleteVolume(await createVolume())
    const refusal = {
      code: 'INVALID_STATE',
      message: `Machine ${machineId} still has the data of 1 deleted volume. It is removed within a minute, if the engine answers.`,
    }
    await expect(operations().disconnect(machineId)).rejects.toMatchObject(refusal)
    facts = { ...facts, identity: 'another engine' }
    await expect(operations().connect(machineId, socket)).rejects.toMatchObject(refusal)
    await changes().noteRemovedVolumes(await changes().deletedVolumes(machineId))
    await operations().disconnect(machineId)
  })

  it('that is simulated has no data of deleted volumes', async () => {
    await deleteVolume(await createVolume())
    await operations().connect(machineId, socket)
    expect(await changes().deletedVolumes(machineId)).toEqual([])
    await operations().disconnect(machineId)
  })

  it('cannot be unplugged while it is connected', async () => {
    await operations().connect(machineId, socket)
    const refusal = { code: 'INVALID_STATE', message: `Machine ${machineId} is not simulated: it has an engine.` }
    await expect(gateway.operations.machines.unplug(machineId)).rejects.toMatchObject(refusal)
    expect(await gateway.operations.machines.byId(machineId)).toMatchObject({ engine: socket.url })
  })

  it('does not get the engine of another machine', async () => {
    await operations().connect(machineId, socket)
    await listMachines(gateway.operations, [{ machine: { publicIp: '203.0.113.250' } }])
    machineId += 1
    await expect(operations().connect(machineId, socket)).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(operations().connect(9_999, socket)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('does not get an engine that has less than its offers promise', async () => {
    facts = { ...facts, cpuCores: 8 }
    await expect(operations().connect(machineId, socket)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: 'cpuCores: is 64, but the engine has 8 cores.',
    })
    expect(await engineOf()).toBeUndefined()
  })
})

describe('what a gateway learns from an engine', () => {
  it('makes a pass due over an instance that changed, if it is on that machine', async () => {
    const id = await rent()
    const before = await dueAt(id)
    await changes().noteChanges(machineId + 1, [id])
    expect(await dueAt(id)).toEqual(before)
    await changes().noteChanges(machineId, [id, 999_999n])
    expect(await dueAt(id)).toEqual(clock.now())
  })

  it('makes a pass due over all instances of a machine that answers again', async () => {
    const id = await rent()
    await changes().noteReturn(machineId + 1)
    expect(await dueAt(id)).not.toEqual(clock.now())
    await changes().noteReturn(machineId)
    expect(await dueAt(id)).toEqual(clock.now())
  })

  it('makes a pass due over an instance whose container is missing', async () => {
    const id = await rent()
    expect(await changes().compare(machineId, { instanceIds: [id], volumeIds: [] })).toEqual({
      ...{ containers: [], volumeIds: [] },
    })
    expect(await dueAt(id)).not.toEqual(clock.now())
    await changes().compare(machineId, { instanceIds: [], volumeIds: [] })
    expect(await dueAt(id)).toEqual(clock.now())
  })

  it('removes containers of instances that are gone, and leaves those that nobody knows', async () => {
    const id = await rent()
    await gateway.services.instances.destroy(actor, { ids: [id] }, {})
    await gateway.idle()
    const inventory = { instanceIds: [id, 999_999n], volumeIds: [] }
    const container = { machineId, instanceId: id, accountId: actor.accountId }
    expect((await changes().compare(machineId, inventory)).containers).toEqual([container])
  })

  it('removes what was lost in a fail-over, and nothing else that nobody knows', async () => {
    const id = await rent()
    const failOver = (epoch: number, witnessed: boolean, after: bigint, lostMinutes: number | null) =>
      gateway.sql(
        `INSERT INTO failovers
          (epoch, line, witnessed, noticed_at, complete_until, instances_after, instances_until, volumes_after, volumes_until)
        VALUES ($1, '', $2, now(), now() - $4 * interval '1 minute', $3::bigint, $3::bigint + 10, $3::bigint + 100, $3::bigint + 110)`,
        [epoch, witnessed, String(after), lostMinutes],
      )
    await failOver(2, true, id - 1n, 59)
    // A copy that was restored: what it does not know may be in use elsewhere.
    await failOver(3, false, id + 1_000n, 59)
    // A backup that was restored while gateways ran, and one that does not know how old it is.
    await failOver(4, true, id + 2_000n, 61)
    await failOver(5, true, id + 3_000n, null)
    const instanceIds = [id, id + 1n, id + 9n, id + 10n, id + 1_001n, id + 2_001n, id + 3_001n]
    expect(await changes().compare(machineId, { instanceIds, volumeIds: [id + 99n, id + 100n, id + 1_101n] })).toEqual({
      containers: [id + 1n, id + 9n].map(instanceId => ({ machineId, instanceId, accountId: undefined })),
      volumeIds: [id + 100n],
    })
  })

  it('gives no id again that a machine has, as after a database was restored', async () => {
    const id = await rent()
    await changes().compare(machineId, { instanceIds: [id + 50n, id + 7n], volumeIds: [] })
    machineId += 1
    await listMachines(gateway.operations, [{ machine: { publicIp: `203.0.113.${machineId}` } }])
    const next = await rent()
    expect(next).toBe(id + 51n)
    await changes().compare(machineId, { instanceIds: [next + 10_000_000n], volumeIds: [] })
    await changes().compare(machineId, { instanceIds: [id], volumeIds: [] })
    machineId += 1
    await listMachines(gateway.operations, [{ machine: { publicIp: `203.0.113.${machineId}` } }])
    expect(await rent()).toBe(next + 1n)
  })

  it('skips only so many ids for a machine that claims greater ones in each list', async () => {
    const { compare } = changes()
    const id = await rent()
    for (const ahead of [60_000n, 120_000n, 180_000n])
      await compare(machineId, { instanceIds: [id + ahead], volumeIds: [] })
    await compare(machineId + 1, { instanceIds: [id + 60_002n], volumeIds: [] })
    machineId += 1
    await listMachines(gateway.operations, [{ machine: { publicIp: `203.0.113.${machineId}` } }])
    expect(await rent()).toBe(id + 60_003n)
  })

  it('removes a deleted volume after the container that has it', async () => {
    await operations().connect(machineId, socket)
    const [id, volumeId] = [await rent(), await createVolume()]
    await gateway.sql(
      `INSERT INTO volume_attachments (volume_id, instance_id, machine_id, account_id, mount_path)
        SELECT $1, id, machine_id, account_id, '/data' FROM instances WHERE id = $2`,
      [volumeId, id],
    )
    await gateway.services.instances.destroy(actor, { ids: [id] })
    await deleteVolume(volumeId)
    const inventory = { instanceIds: [id], volumeIds: [volumeId] }
    expect(await changes().compare(machineId, inventory)).toEqual({ containers: [], volumeIds: [] })
    expect(await changes().deletedVolumes(machineId)).toEqual([])
    await gateway.idle()
    expect((await changes().compare(machineId, { ...inventory, instanceIds: [] })).volumeIds).toEqual([volumeId])
    expect(await changes().deletedVolumes(machineId)).toEqual([volumeId])
  })

  it('removes volumes that are deleted, and leaves all others', async () => {
    await operations().connect(machineId, socket)
    const [kept, deleted] = [await createVolume(), await createVolume()]
    await deleteVolume(deleted)
    const inventory = { instanceIds: [], volumeIds: [kept, deleted, deleted + 99n] }
    expect((await changes().compare(machineId, inventory)).volumeIds).toEqual([deleted])
    expect(await changes().deletedVolumes(machineId)).toEqual([deleted])
    await changes().noteRemovedVolumes([kept, deleted])
    expect(await changes().deletedVolumes(machineId)).toEqual([])
    await deleteVolume(kept)
    expect(await changes().deletedVolumes(machineId)).toEqual([kept])
    // A gateway that made the volume again too late: it is removed all the same.
    expect((await changes().compare(machineId, inventory)).volumeIds.sort()).toEqual([kept, deleted])
  })
})
