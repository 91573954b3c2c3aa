import type { NewGpuModel } from '../../src/domain/machines/import-rows.ts'
import type { NewMachine } from '../../src/services/machines/machines.ts'
import type { Operations } from '../../src/services/operations.ts'

/** A valid GPU model. */
export function aGpuModel(overrides: Partial<NewGpuModel> = {}): NewGpuModel {
  return {
    name: 'RTX 4090',
    vendor: 'nvidia',
    ramMb: 24_564,
    memoryBandwidthGigabytesPerSecond: 1_008,
    tflops: 82.6,
    maxPowerWatts: 450,
    computeCapability: '8.9',
    ...overrides,
  }
}

export type MachineAttributes = Omit<NewMachine, 'hostId' | 'gpuModelId'>

/** A valid machine: one GPU at $0.40 per hour, and disk at $0.36 per GB per month. */
export function aMachine(overrides: Partial<MachineAttributes> = {}): MachineAttributes {
  return {
    numGpus: 1,
    dlperfPerGpu: 100,
    gpuMaxTempCelsius: 60,
    gpuDisplayActive: false,
    gpuLanes: 16,
    nvlinkGigabytesPerSecond: 0,
    pciGeneration: 4,
    pcieGigabytesPerSecond: 20,
    cudaVersion: '12.8',
    driverVersion: '570.172.08',
    cpuName: 'AMD EPYC 7713',
    cpuArch: 'amd64',
    cpuCores: 64,
    cpuGhz: 3.6,
    cpuRamMb: 257_000,
    hasAvx: true,
    motherboard: 'H12SSL-i',
    osVersion: '22.04',
    diskName: 'nvme',
    diskReadMegabytesPerSecond: 3_000,
    diskMb: 900_000,
    downloadMbps: 1_000,
    uploadMbps: 500,
    publicIp: '198.18.0.1',
    staticIp: true,
    firstPort: 20_000,
    lastPort: 20_099,
    country: 'SE',
    city: 'Stockholm',
    datacenter: true,
    vmsEnabled: false,
    verification: 'verified',
    reliability: 0.99,
    gpuNanos: 400_000_000n,
    minBidGpuNanos: (overrides.gpuNanos ?? 400_000_000n) / 2n,
    diskPricePerGbMonthNanos: 360_000_000n,
    downloadPricePerGbNanos: 5_000_000n,
    uploadPricePerGbNanos: 5_000_000n,
    listedUntil: new Date('2027-06-01T00:00:00.000Z'),
    ...overrides,
  }
}

export type MachineListing = { model?: Partial<NewGpuModel>; machine?: Partial<MachineAttributes> }

/** Puts machines on the market, each with its GPU model. Machines get their ids in this order. */
export async function listMachines({ machines, accounts }: Operations, listed: MachineListing[]): Promise<void> {
  const models = listed.map(({ model }) => aGpuModel(model))
  const ids = await machines.saveGpuModels([...new Map(models.map(model => [model.name, model])).values()])
  const [hostId] = await accounts.saveHosts(['host@example.com'])
  await machines.list(
    listed.map(({ machine }, index) => ({
      ...aMachine(machine),
      hostId: hostId as number,
      gpuModelId: ids.get(models[index]?.name ?? '') as number,
    })),
  )
}
