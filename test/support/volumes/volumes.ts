import { expect } from 'vitest'
import type { TestApp } from '../app.ts'
import { listMachines, type MachineListing } from '../factories.ts'

// biome-ignore lint/suspicious/noExplicitAny: the shape depends on the query of the test
type Answer = any

const createSelection = `__typename ... on Error { code message retry } ... on InvalidInputError { issues { path } }
  ... on PriceChangedError { currentPricePerHour }
  ... on CreateVolumeSuccess { replayed volume { id name sizeGb pricePerHour createdAt machine { id } attachment { mountPath } } }`
const deleteSelection = `__typename ... on Error { code message retry } ... on DeleteVolumeSuccess { deletedId }
  ... on VolumeUnavailableError { volume { id } attachedTo { id } }`

/** Creates and deletes volumes over GraphQL. */
export function volumesOf(app: TestApp) {
  /** Lists a machine and returns its id. */
  async function newMachine(machine: MachineListing['machine'] = {}): Promise<number> {
    await listMachines(app.operations, [{ machine }])
    const [row] = await app.sql('SELECT max(id) AS id FROM machines')
    return (row as { id: number }).id
  }

  async function create(key: string, input: object): Promise<Answer> {
    const query = `mutation ($input: CreateVolumeInput!) { createVolume(input: $input) { ${createSelection} } }`
    const { data, errors } = await app.graphql(key, query, { input })
    if (!data?.createVolume) throw new Error(JSON.stringify(errors))
    return data.createVolume
  }

  /** Creates a volume, which must succeed, and returns its number. */
  async function mustCreate(key: string, machineId: number, sizeGb = 10): Promise<number> {
    const answer = await create(key, { offerId: `vof_${machineId}`, sizeGb })
    expect(answer).toMatchObject({ __typename: 'CreateVolumeSuccess' })
    return Number(answer.volume.id.slice('vol_'.length))
  }

  async function remove(key: string, id: number | string): Promise<Answer> {
    const { data, errors } = await app.graphql(
      key,
      `mutation { deleteVolume(input: { id: "${id}" }) { ${deleteSelection} } }`,
    )
    if (!data?.deleteVolume) throw new Error(JSON.stringify(errors))
    return data.deleteVolume
  }

  async function freeDiskMb(machineId: number): Promise<number> {
    const [row] = await app.sql(`SELECT free_disk_mb FROM machines WHERE id = ${machineId}`)
    return (row as { free_disk_mb: number }).free_disk_mb
  }

  /** Attaches a volume to an instance directly in the database. */
  async function attach(volumeId: number, instanceId: number, mountPath = '/data'): Promise<void> {
    await app.sql(`INSERT INTO volume_attachments (volume_id, instance_id, machine_id, account_id, mount_path)
      SELECT ${volumeId}, id, machine_id, account_id, '${mountPath}' FROM instances WHERE id = ${instanceId}`)
  }

  return { newMachine, create, make: mustCreate, remove, freeDiskMb, attach }
}
