import type { z } from 'zod'
import type { Block, GpuModel, Machine } from '../../domain/machines/machines.ts'
import {
  computeCapabilityNumberOf,
  driverVersionNumberOf,
  printDriverVersion,
  versionNumberOf,
} from '../../domain/machines/versions.ts'
import { usdToNumber } from '../../domain/money.ts'
import { cpuCoresEffectiveOf } from '../../domain/offers/fields.ts'
import type { Selected, SelectOf } from '../../services/selected.ts'
import type { blockRowSchema } from './row.ts'

/** What `blockRow` reads. */
export const blockRowSelect = {
  firstGpu: true,
  numGpus: true,
  machine: {
    select: {
      id: true,
      hostId: true,
      numGpus: true,
      gpuMaxTempCelsius: true,
      gpuLanes: true,
      gpuDisplayActive: true,
      nvlinkGigabytesPerSecond: true,
      pciGeneration: true,
      pcieGigabytesPerSecond: true,
      cudaVersion: true,
      driverVersion: true,
      cpuName: true,
      cpuArch: true,
      cpuCores: true,
      cpuGhz: true,
      cpuRamMb: true,
      hasAvx: true,
      motherboard: true,
      osVersion: true,
      diskName: true,
      freeDiskMb: true,
      diskReadMegabytesPerSecond: true,
      downloadMbps: true,
      uploadMbps: true,
      downloadPricePerGbNanos: true,
      uploadPricePerGbNanos: true,
      publicIp: true,
      staticIp: true,
      freePorts: true,
      city: true,
      country: true,
      datacenter: true,
      vmsEnabled: true,
      verification: true,
      reliability: true,
      gpuModel: {
        select: {
          name: true,
          vendor: true,
          ramMb: true,
          memoryBandwidthGigabytesPerSecond: true,
          maxPowerWatts: true,
          computeCapability: true,
        },
      },
    },
  },
} satisfies SelectOf<BlockOnMachine>

type BlockOnMachine = Block & { machine: Machine & { gpuModel: GpuModel } }

/** The columns that rows of offers and instances share: their GPUs and their machine. */
export function blockRow(block: Selected<BlockOnMachine, typeof blockRowSelect>): z.output<typeof blockRowSchema> {
  const { machine, numGpus, firstGpu } = block
  const { gpuModel } = machine
  const driverVersionNumber = driverVersionNumberOf(machine.driverVersion)
  return {
    machine_id: machine.id,
    host_id: machine.hostId,
    hostname: null,
    cluster_id: null,
    gpu_name: gpuModel.name,
    gpu_arch: gpuModel.vendor,
    num_gpus: numGpus,
    gpu_ids: Array.from({ length: numGpus }, (_, index) => firstGpu + index),
    gpu_frac: numGpus / machine.numGpus,
    gpu_ram: gpuModel.ramMb,
    gpu_total_ram: gpuModel.ramMb * numGpus,
    gpu_mem_bw: gpuModel.memoryBandwidthGigabytesPerSecond,
    gpu_max_power: gpuModel.maxPowerWatts,
    gpu_max_temp: machine.gpuMaxTempCelsius,
    gpu_lanes: machine.gpuLanes,
    gpu_display_active: machine.gpuDisplayActive,
    compute_cap: computeCapabilityNumberOf(gpuModel.computeCapability),
    bw_nvlink: machine.nvlinkGigabytesPerSecond,
    pci_gen: machine.pciGeneration,
    pcie_bw: machine.pcieGigabytesPerSecond,
    cuda_max_good: versionNumberOf(machine.cudaVersion),
    driver_version: printDriverVersion(driverVersionNumber, gpuModel.vendor),
    driver_vers: driverVersionNumber,

    cpu_name: machine.cpuName,
    cpu_arch: machine.cpuArch,
    cpu_cores: machine.cpuCores,
    cpu_cores_effective: cpuCoresEffectiveOf(block),
    cpu_ghz: machine.cpuGhz,
    cpu_ram: machine.cpuRamMb,
    has_avx: Number(machine.hasAvx),
    mobo_name: machine.motherboard,
    os_version: versionNumberOf(machine.osVersion).toFixed(2),

    disk_name: machine.diskName,
    disk_space: machine.freeDiskMb / 1000,
    disk_bw: machine.diskReadMegabytesPerSecond,

    inet_down: machine.downloadMbps,
    inet_up: machine.uploadMbps,
    inet_down_cost: usdToNumber(machine.downloadPricePerGbNanos),
    inet_up_cost: usdToNumber(machine.uploadPricePerGbNanos),
    internet_down_cost_per_tb: usdToNumber(machine.downloadPricePerGbNanos * 1000n),
    internet_up_cost_per_tb: usdToNumber(machine.uploadPricePerGbNanos * 1000n),
    public_ipaddr: machine.publicIp,
    static_ip: machine.staticIp,
    direct_port_count: machine.freePorts,

    geolocation: `${machine.city}, ${machine.country}`,
    geolocode: Number.parseInt(machine.country, 36),
    hosting_type: Number(machine.datacenter),
    vms_enabled: machine.vmsEnabled,
    verification: machine.verification,
    vericode: Number(machine.verification === 'verified'),
    reliability: machine.reliability,
    reliability2: machine.reliability,
    reliability_mult: machine.reliability,
  }
}

/** The parts of an hourly price. */
export function hourlyRow(gpuCostPerHour: number, diskHour: number, totalHour: number) {
  return { gpuCostPerHour, diskHour, totalHour, discountTotalHour: 0, discountedTotalPerHour: totalHour }
}
