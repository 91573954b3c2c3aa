import { createRandom } from '../../../prisma/seeded-random.ts'
import { floorRequest, graphqlRequest, nanosOf, numberOfId } from './requests.ts'
import { defineWorkload, endless, type Workload } from './workload.ts'

/** Six filters, with the state of the offer: only verified offers that can be rented now. */
export type Search = {
  account: number
  gpuNames: string[]
  minGpuRamMb: number
  minGpus: number
  minReliability: number
  maxPriceNanos: number
}

const models = ['RTX 3090', 'RTX 4090', 'RTX 5090', 'RTX A6000', 'L40S', 'A100 SXM4', 'H100 SXM', 'H200']

/** Random searches, in the names of accounts that have instances. */
export function searches(run: number, accounts: number): Generator<Search> {
  return endless(index => {
    const random = createRandom(1, run, index)
    const first = random.whole(0, models.length - 1)
    const second = (first + random.whole(1, models.length - 1)) % models.length
    return {
      account: random.whole(1, accounts),
      gpuNames: [models[first], models[second]] as string[],
      minGpuRamMb: random.pick([8_000, 16_000, 24_000]),
      minGpus: random.pick([1, 1, 2, 4]),
      minReliability: random.pick([0.9, 0.92, 0.95]),
      maxPriceNanos: random.pick([2, 8, 30]) * 1_000_000_000,
    }
  })
}

export function searchValues(search: Search, rows: number): unknown[] {
  const { gpuNames, minGpuRamMb, minGpus, minReliability, maxPriceNanos } = search
  return [gpuNames, minGpuRamMb, minGpus, minReliability, maxPriceNanos, rows]
}

const berthQuery = `query ($rows: Int!, $gpuNames: [String!], $minGpuRamMb: Int, $minGpus: Int, $minReliability: Float, $maxPrice: Usd) {
  offers(first: $rows, filter: {gpuName: {in: $gpuNames}, gpuRamMb: {gte: $minGpuRamMb}, numGpus: {gte: $minGpus},
    reliability: {gte: $minReliability}, pricePerHour: {lte: $maxPrice}, verified: true}) {
    nodes { id numGpus price { pricePerHour } dlperf score gpu { name gpuRamMb }
      machine { id country city cpuCores cpuRamMb freeDiskGb downloadMbps reliability verification } }
  }
}`

const peerNodes = `nodes { rowId numGpus priceNanos dlperf score machineGpuModel { rowId country city cpuCores cpuRamMb freeDiskMb
  downloadMbps reliability verification gpuModel { name ramMb } } }`
const plainQuery = `query ($rows: Int!, $gpuNames: [String!], $minGpuRamMb: Int, $minGpus: Int, $minReliability: Float, $maxPriceNanos: BigInt,
  $now: Datetime) {
  offers(first: $rows, orderBy: [PRICE_NANOS_ASC, ROW_ID_ASC], filter: {
    offerKind: {gpuModel: {name: {in: $gpuNames}, ramMb: {greaterThanOrEqualTo: $minGpuRamMb}}},
    numGpus: {greaterThanOrEqualTo: $minGpus}, reliability: {greaterThanOrEqualTo: $minReliability},
    priceNanos: {lessThanOrEqualTo: $maxPriceNanos}, verified: {equalTo: true}, rentable: {equalTo: true}, leads: {equalTo: true},
    withdrawnAt: {isNull: true}, listedUntil: {greaterThan: $now}}) { ${peerNodes} }
}`
const functionQuery = `query ($rows: Int!, $gpuNames: [String!], $minGpuRamMb: Int, $minGpus: Int, $minReliability: Float,
  $maxPriceNanos: BigInt) {
  offers: peerSearchOffers(gpuNames: $gpuNames, minGpuRamMb: $minGpuRamMb, minGpus: $minGpus, minReliability: $minReliability,
    maxPriceNanos: $maxPriceNanos, maxRows: $rows) { ${peerNodes} }
}`

export function searchWorkload(rows: number, accounts: number): Workload {
  const forPeers = ({ account: _, maxPriceNanos, ...search }: Search) => {
    return { ...search, maxPriceNanos: String(maxPriceNanos), rows }
  }
  return defineWorkload<Search>({
    id: 'W1',
    title: `search with 6 filters by price, ${rows} rows`,
    inputs: run => searches(run, accounts),
    maxStatements: 2,
    ways: {
      Berth: {
        request: ({ account, maxPriceNanos, ...search }) =>
          graphqlRequest(berthQuery, { ...search, maxPrice: String(maxPriceNanos / 1e9), rows }, account),
        rows: rowsOfBerth,
        expects: '"nodes":[',
      },
      PostGraphile: {
        request: search => graphqlRequest(plainQuery, { ...forPeers(search), now: new Date() }),
        rows: rowsOfPostGraphile,
        expects: '"nodes":[',
      },
      'PostGraphile, by hand': {
        request: search => graphqlRequest(functionQuery, forPeers(search)),
        rows: rowsOfPostGraphile,
        expects: '"nodes":[',
      },
      floor: {
        request: search => floorRequest('/search', searchValues(search, rows)),
        rows: answer => answer,
        expects: '[',
      },
    },
  })
}

type BerthMachine = { id: string; freeDiskGb: number; verification: string }
type BerthOffer = {
  id: string
  price: { pricePerHour: string }
  gpu: { name: string; gpuRamMb: number }
  machine: BerthMachine
}

function rowsOfBerth(answer: { data: { offers: { nodes: BerthOffer[] } } }) {
  return answer.data.offers.nodes.map(({ id, price, gpu, machine, ...offer }) => {
    const { id: machineId, freeDiskGb, verification, ...facts } = machine
    return {
      ...offer,
      id: numberOfId(id),
      priceNanos: nanosOf(price.pricePerHour),
      gpu: { name: gpu.name, ramMb: gpu.gpuRamMb },
      machine: {
        ...facts,
        id: numberOfId(machineId),
        freeDiskMb: freeDiskGb * 1_000,
        verification: verification.toLowerCase(),
      },
    }
  })
}

type PeerMachine = { rowId: number; gpuModel: { name: string; ramMb: number }; verification: string }
type PeerOffer = { rowId: string; priceNanos: string; machineGpuModel: PeerMachine }

function rowsOfPostGraphile(answer: { data: { offers: { nodes: PeerOffer[] } } }) {
  return answer.data.offers.nodes.map(({ rowId, priceNanos, machineGpuModel, ...offer }) => {
    const { rowId: machineId, gpuModel, verification, ...facts } = machineGpuModel
    return {
      ...offer,
      id: Number(rowId),
      priceNanos: Number(priceNanos),
      gpu: gpuModel,
      machine: { ...facts, id: machineId, verification: verification.toLowerCase() },
    }
  })
}
