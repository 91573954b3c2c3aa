import { floorRequest, graphqlRequest, nanosOf, numberOfId } from './requests.ts'
import { defineWorkload, endless, type Workload } from './workload.ts'

const berthQuery = `{ instances(first: 50) { nodes { id label status numGpus pricePerHour createdAt
  offer { id numGpus price { pricePerHour } } machine { id country cpuName cpuCores gpu { name } } template { id name }
  volumes { mountPath volume { id name sizeGb } } } } }`

const peerQuery = `query ($account: Int!) {
  instances(first: 50, condition: {accountId: $account}, filter: {destroyedAt: {isNull: true}}, orderBy: ROW_ID_DESC) { nodes {
    rowId label status numGpus gpuPriceNanos diskNanos createdAt offer { rowId numGpus priceNanos }
    machine { rowId country cpuName cpuCores gpuModel { name } } template { rowId name }
    volumes: volumeAttachmentsByInstanceIdAndMachineIdAndAccountId(filter: {releasedAt: {isNull: true}}, orderBy: MOUNT_PATH_ASC) {
      nodes { mountPath volume: volumeMachineAccount { rowId name sizeMb } } } } }
}`

/** The newest 50 instances of accounts that have 64, and of one that has thousands. */
export function instancesWorkload(accounts: number): Workload {
  return defineWorkload<number>({
    id: 'W2',
    title: '50 instances with offer, machine, template and volumes',
    inputs: run => endless(index => 1 + ((run + index) % accounts)),
    maxStatements: 1,
    ways: {
      Berth: { request: account => graphqlRequest(berthQuery, {}, account), rows: rowsOfBerth, expects: '"nodes":[{' },
      PostGraphile: {
        request: account => graphqlRequest(peerQuery, { account }),
        rows: rowsOfPostGraphile,
        expects: '"nodes":[{',
      },
      floor: { request: account => floorRequest('/instances', [account]), rows: answer => answer, expects: '[{' },
    },
  })
}

type BerthInstance = {
  id: string
  status: string
  pricePerHour: string
  offer: { id: string; numGpus: number; price: { pricePerHour: string } }
  machine: { id: string }
  template: { id: string; name: string } | null
  volumes: { mountPath: string; volume: { id: string; name: string; sizeGb: number } }[]
}

function rowsOfBerth(answer: { data: { instances: { nodes: BerthInstance[] } } }) {
  return answer.data.instances.nodes.map(
    ({ id, status, pricePerHour, offer, machine, template, volumes, ...instance }) => ({
      ...instance,
      id: numberOfId(id),
      status: status.toLowerCase(),
      priceNanos: nanosOf(pricePerHour),
      offer: { id: numberOfId(offer.id), numGpus: offer.numGpus, priceNanos: nanosOf(offer.price.pricePerHour) },
      machine: { ...machine, id: numberOfId(machine.id) },
      template: template && { ...template, id: numberOfId(template.id) },
      volumes: volumes.map(({ mountPath, volume }) => {
        return { mountPath, volume: { id: numberOfId(volume.id), name: volume.name, sizeMb: volume.sizeGb * 1_000 } }
      }),
    }),
  )
}

type PeerVolume = { rowId: string; name: string; sizeMb: number }
type PeerInstance = {
  rowId: string
  status: string
  gpuPriceNanos: string
  diskNanos: string
  createdAt: string
  offer: { rowId: string; numGpus: number; priceNanos: string }
  machine: { rowId: number; gpuModel: { name: string } }
  template: { rowId: number; name: string } | null
  volumes: { nodes: { mountPath: string; volume: PeerVolume }[] }
}

function rowsOfPostGraphile(answer: { data: { instances: { nodes: PeerInstance[] } } }) {
  return answer.data.instances.nodes.map(row => {
    const { rowId, status, gpuPriceNanos, diskNanos, createdAt, offer, machine, template, volumes, ...instance } = row
    const { rowId: machineId, gpuModel, ...facts } = machine
    return {
      ...instance,
      id: Number(rowId),
      status: status.toLowerCase(),
      priceNanos: Number(gpuPriceNanos) + Number(diskNanos),
      createdAt: new Date(createdAt).toISOString(),
      offer: { id: Number(offer.rowId), numGpus: offer.numGpus, priceNanos: Number(offer.priceNanos) },
      machine: { ...facts, id: machineId, gpu: gpuModel },
      template: template && { id: template.rowId, name: template.name },
      volumes: volumes.nodes.map(({ mountPath, volume: { rowId: id, ...volume } }) => {
        return { mountPath, volume: { ...volume, id: Number(id) } }
      }),
    }
  })
}
