import { printDriverVersion } from '../domain/machines.ts'
import { usdNumber } from '../domain/money.ts'
import type { Offer } from '../domain/offers.ts'
import { availableSecondsOf, cpuCoresEffectiveOf, isRentable, offerFields, tflopsOf } from '../domain/offers-fields.ts'

/** An offer as a row: every field that clients of this API read, with the type and unit that they expect. */
export function offerRow(offer: Offer): Record<string, unknown> {
  const { id, machine, price, pricing, numGpus, firstGpu } = offer
  const { gpuModel } = machine
  const dollars = usdNumber(price.totalNanos)
  const compute = usdNumber(price.computeNanos)
  const disk = usdNumber(price.diskNanos)
  return {
    id: Number(id),
    ask_contract_id: Number(id),
    bundle_id: machine.id * 100 + numGpus,
    bundled_results: null,
    machine_id: machine.id,
    host_id: machine.hostId,
    hostname: null,
    cluster_id: null,
    external: null,
    resource_type: 'gpu',
    webpage: null,
    logo: '',

    gpu_name: gpuModel.name,
    gpu_arch: gpuModel.architecture,
    num_gpus: numGpus,
    gpu_ids: Array.from({ length: numGpus }, (_, index) => firstGpu + index),
    gpu_frac: numGpus / machine.numGpus,
    gpu_ram: gpuModel.ramMb,
    gpu_total_ram: gpuModel.ramMb * numGpus,
    gpu_mem_bw: gpuModel.memoryBandwidthGbps,
    gpu_max_power: gpuModel.maxPowerWatts,
    gpu_max_temp: machine.gpuMaxTempCelsius,
    gpu_lanes: machine.gpuLanes,
    gpu_display_active: machine.gpuDisplayActive,
    compute_cap: gpuModel.computeCapability,
    bw_nvlink: machine.nvlinkGbps,
    pci_gen: machine.pciGeneration,
    pcie_bw: machine.pcieGbps,
    cuda_max_good: machine.cudaVersion,
    driver_version: printDriverVersion(machine.driverVersion, gpuModel.architecture),
    driver_vers: machine.driverVersion,

    total_flops: tflopsOf(offer),
    flops_per_dphtotal: tflopsOf(offer) / dollars,
    dlperf: offer.dlperf,
    dlperf_per_dphtotal: offer.dlperf / dollars,
    score: offer.score,

    cpu_name: machine.cpuName,
    cpu_arch: machine.cpuArch,
    cpu_cores: machine.cpuCores,
    cpu_cores_effective: cpuCoresEffectiveOf(offer),
    cpu_ghz: machine.cpuGhz,
    cpu_ram: machine.cpuRamMb,
    has_avx: Number(machine.hasAvx),
    mobo_name: machine.motherboard,
    os_version: machine.osVersion.toFixed(2),

    disk_name: machine.diskName,
    disk_space: machine.freeDiskMb / 1000,
    disk_bw: machine.diskMbps,

    inet_down: machine.downloadMbps,
    inet_up: machine.uploadMbps,
    inet_down_cost: usdNumber(machine.downloadNanos),
    inet_up_cost: usdNumber(machine.uploadNanos),
    internet_down_cost_per_tb: usdNumber(machine.downloadNanos * 1000n),
    internet_up_cost_per_tb: usdNumber(machine.uploadNanos * 1000n),
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

    rentable: isRentable(offer),
    rented: offerFields.rented.of(offer),
    is_bid: pricing.type === 'interruptible',
    start_date: offer.listedAt.getTime() / 1000,
    end_date: machine.listedUntil.getTime() / 1000,
    duration: availableSecondsOf(offer),
    time_remaining: '',
    time_remaining_isbid: '',

    dph_base: compute,
    dph_total: dollars,
    discounted_dph_total: dollars,
    credit_discount_max: 0,
    min_bid: usdNumber(offer.minBidNanos),
    storage_cost: usdNumber(machine.storageNanos),
    storage_total_cost: disk,
    vram_costperhour: (compute * 1024) / (gpuModel.ramMb * numGpus),
    search: hourly(compute, disk, dollars),
    instance: hourly(0, disk, disk),
  }
}

/** The hourly price in parts: of the offer, and of what an instance costs while it is stopped. */
function hourly(gpuCostPerHour: number, diskHour: number, totalHour: number) {
  return { gpuCostPerHour, diskHour, totalHour, discountTotalHour: 0, discountedTotalPerHour: totalHour }
}
