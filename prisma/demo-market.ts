// Generates a realistic demo market. The same seed gives the same machines, so that documentation, tests and benchmarks
// can rely on them.

import { versionNumberOf } from '../src/domain/machines/versions.ts'
import type { NewMachine } from '../src/services/machines/machines.ts'
import { type DemoModel, demoModels } from './gpu-models.ts'
import { createRandom, type SeededRandom } from './seeded-random.ts'

export type DemoMachine = Omit<NewMachine, 'hostId' | 'gpuModelId'> & { host: number; gpuModel: string }

const places: [country: string, city: string, weight: number][] = [
  ['US', 'California', 12],
  ['US', 'Texas', 10],
  ['US', 'New York', 6],
  ['CA', 'Quebec', 6],
  ['DE', 'Frankfurt', 7],
  ['FR', 'Paris', 4],
  ['GB', 'London', 4],
  ['NL', 'Amsterdam', 4],
  ['SE', 'Stockholm', 5],
  ['NO', 'Oslo', 4],
  ['FI', 'Helsinki', 2],
  ['PL', 'Warsaw', 4],
  ['CZ', 'Prague', 3],
  ['ES', 'Madrid', 2],
  ['IT', 'Milan', 2],
  ['BG', 'Sofia', 2],
  ['UA', 'Kyiv', 2],
  ['KR', 'Seoul', 5],
  ['JP', 'Tokyo', 5],
  ['TW', 'Taipei', 3],
  ['SG', 'Singapore', 2],
  ['VN', 'Hanoi', 2],
  ['IN', 'Mumbai', 3],
  ['AU', 'Sydney', 2],
  ['BR', 'São Paulo', 2],
  ['ZA', 'Cape Town', 1],
]

const homeCpus: [name: string, cores: number, ghz: number, motherboard: string][] = [
  ['AMD Ryzen 5 5600X', 12, 4.6, 'B550'],
  ['AMD Ryzen 7 7700X', 16, 5.4, 'B650'],
  ['AMD Ryzen 9 7950X', 32, 5.7, 'X670E'],
  ['AMD Ryzen 9 9950X', 32, 5.7, 'X870E'],
  ['Intel Core i7-12700K', 20, 5, 'Z690'],
  ['Intel Core i9-13900K', 32, 5.8, 'Z790'],
]
const rackCpus: typeof homeCpus = [
  ['AMD EPYC 7402P', 48, 3.35, 'ROMED8-2T'],
  ['AMD EPYC 7713', 128, 3.67, 'H12SSL-i'],
  ['AMD EPYC 9354', 128, 3.8, 'H13SSL-N'],
  ['AMD EPYC 9654', 192, 3.7, 'K14PG-D24'],
  ['Intel Xeon Gold 6338', 128, 3.2, 'X12DPG-OA6'],
  ['Intel Xeon Platinum 8480+', 224, 3.8, 'X13DEG-OAD'],
]
/** Each driver with the newest CUDA version that it supports. */
const drivers: [version: string, cuda: string, weight: number][] = [
  ['535.183.06', '12.2', 2],
  ['550.127.05', '12.4', 3],
  ['565.57.01', '12.7', 2],
  ['570.172.08', '12.8', 4],
  ['575.64.03', '12.9', 2],
  ['580.105.08', '13.0', 5],
]
const diskNames = [
  'Samsung SSD 990 PRO 2TB',
  'WD_BLACK SN850X 4TB',
  'KINGSTON SKC3000D2048G',
  'INTEL SSDPE2KX040T8',
  'nvme',
]

/** Generates the machines `first` to `end - 1` of the market of a seed. `start` is when they are listed. */
export function* generateDemoMachines(first: number, end: number, start: Date, seed: number): Generator<DemoMachine> {
  for (let index = first; index < end; index += 1) yield createDemoMachine(index, start, seed)
}

const machinesPerHost = 6

export function countDemoHosts(machines: number): number {
  return Math.ceil(machines / machinesPerHost)
}

type Host = ReturnType<typeof createHost>

/** The machines of a host share their place and their price level. */
function createHost(index: number, seed: number) {
  const random = createRandom(seed, 1, index)
  const [country, city] = random.weighted(places, ([, , weight]) => weight)
  const datacenter = random.chance(0.4)
  return {
    country,
    city,
    datacenter,
    priceFactor: random.between(0.85, 1.25),
    diskPricePerGbMonthNanos: BigInt(random.whole(5, datacenter ? 20 : 35)) * 10_000_000n,
    trafficNanos: random.chance(0.3) ? 0n : BigInt(random.whole(1, 20)) * 1_000_000n,
  }
}

function createDemoMachine(index: number, start: Date, seed: number): DemoMachine {
  const hostIndex = Math.floor(index / machinesPerHost)
  const host = createHost(hostIndex, seed)
  const { country, city, datacenter, diskPricePerGbMonthNanos, trafficNanos } = host
  const random = createRandom(seed, 2, index)
  const model = pickModel(index, host, random)
  const numGpus = pickCount(model, host, random)
  const trust = pickTrust(host, random)
  return {
    ...pickGpuFields(model, numGpus, host, random),
    ...pickComputerFields(numGpus, host, random),
    ...pickNetworkFields(index, numGpus, host, random),
    ...pickPrices(model, trust.verification, host, random),
    ...trust,
    host: hostIndex,
    country,
    city,
    datacenter,
    diskPricePerGbMonthNanos,
    downloadPricePerGbNanos: trafficNanos,
    uploadPricePerGbNanos: trafficNanos,
    vmsEnabled: random.chance(datacenter ? 0.5 : 0.15),
    listedUntil: new Date(start.getTime() + random.whole(30, 365) * 86_400_000),
  }
}

/** The first machines have one of each model. */
function pickModel(index: number, { datacenter }: Host, random: SeededRandom): DemoModel {
  const weightHere = (model: DemoModel) => model.weight * (model.rack === datacenter ? 4 : 1)
  return demoModels[index] ?? random.weighted(demoModels, weightHere)
}

const homeCounts = { 1: 45, 2: 22, 3: 3, 4: 16, 6: 4, 8: 8 }
const rackCounts = { 1: 2, 2: 2, 4: 4, 8: 12 }

function pickCount(model: DemoModel, { datacenter }: Host, random: SeededRandom): number {
  const counts = Object.entries(model.rack && datacenter ? rackCounts : homeCounts)
  return Number(random.weighted(counts, ([, weight]) => weight)[0])
}

function pickTrust({ datacenter }: Host, random: SeededRandom): Pick<DemoMachine, 'verification' | 'reliability'> {
  if (random.chance(datacenter ? 0.95 : 0.7))
    return { verification: 'verified', reliability: random.rounded(0.95, 0.9998, 4) }
  return { verification: random.chance(0.1) ? 'deverified' : 'unverified', reliability: random.rounded(0.8, 0.99, 4) }
}

function pickGpuFields(
  { gpuModel, dlperf, rack }: DemoModel,
  numGpus: number,
  { datacenter }: Host,
  random: SeededRandom,
) {
  const { name, vendor } = gpuModel
  const computeCapability = versionNumberOf(gpuModel.computeCapability)
  const [driver, cudaVersion] = random.weighted(drivers, ([, , weight]) => weight)
  const isModern = computeCapability >= 8 || vendor === 'amd'
  return {
    gpuModel: name,
    numGpus,
    dlperfPerGpu: Number((dlperf * random.between(0.9, 1.05)).toFixed(1)),
    gpuMaxTempCelsius: random.whole(28, 84),
    gpuDisplayActive: !datacenter && random.chance(0.15),
    gpuLanes: numGpus > 4 && !rack ? 8 : 16,
    nvlinkGigabytesPerSecond: /SXM|NVL|H200|B200/.test(name) ? 450 : 0,
    pciGeneration: computeCapability >= 10 ? 5 : isModern ? 4 : 3,
    pcieGigabytesPerSecond: random.rounded(6, isModern ? 26 : 13, 1),
    cudaVersion: vendor === 'nvidia' ? cudaVersion : null,
    driverVersion: vendor === 'nvidia' ? driver : '6.3.1',
  }
}

function pickComputerFields(numGpus: number, { datacenter }: Host, random: SeededRandom) {
  const large = datacenter || numGpus > 3
  const [cpuName, cpuCores, cpuGhz, motherboard] = random.pick(large ? rackCpus : homeCpus)
  return {
    cpuName,
    cpuArch: 'amd64',
    cpuCores,
    cpuGhz,
    cpuRamMb: random.pick(large ? [128_000, 257_000, 515_000, 1_031_000] : [31_900, 64_200, 128_600]),
    hasAvx: true,
    motherboard,
    osVersion: random.pick(['20.04', '22.04', '22.04', '24.04']),
    diskName: random.pick(diskNames),
    diskReadMegabytesPerSecond: random.rounded(500, 7_000, 1),
    diskMb: (random.pick([200, 480, 900, 1_800, 3_600, 7_200]) + random.whole(0, 99)) * 1_000,
  }
}

function pickNetworkFields(index: number, numGpus: number, { datacenter }: Host, random: SeededRandom) {
  const linkMbps = random.pick(datacenter ? [1_000, 5_000, 10_000] : [200, 500, 1_000])
  return {
    downloadMbps: random.rounded(0.6 * linkMbps, 0.98 * linkMbps, 1),
    uploadMbps: random.rounded(0.4 * linkMbps, 0.95 * linkMbps, 1),
    // 198.18.0.0/15 is reserved for benchmarks, so no real machine has these addresses.
    publicIp: `198.${18 + ((index >> 16) & 1)}.${(index >> 8) & 255}.${index & 255}`,
    staticIp: datacenter || random.chance(0.4),
    firstPort: 20_000,
    lastPort: 20_000 + random.whole(datacenter ? 99 : 15, 249) * numGpus,
  }
}

/** Unverified machines are cheaper, and the minimum bid is well below the price. Prices are whole tenths of a cent. */
function pickPrices(model: DemoModel, verification: string, { priceFactor }: Host, random: SeededRandom) {
  const trust = verification === 'verified' ? 1 : 0.82
  const mills = Math.max(2, Math.round(1_000 * model.dollarsPerHour * priceFactor * trust * random.between(0.92, 1.12)))
  const minBidMills = Math.max(1, Math.round(mills * random.between(0.4, 0.75)))
  return { gpuNanos: BigInt(mills) * 1_000_000n, minBidGpuNanos: BigInt(minBidMills) * 1_000_000n }
}
