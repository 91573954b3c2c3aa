// Rows with every column that the REST face answers, for rentals on demand and instances that run.

import { simulatedWarning } from '../../../../src/domain/instances/access.ts'
import {
  computeCapabilityNumberOf,
  driverVersionNumberOf,
  printDriverVersion,
  versionNumberOf,
} from '../../../../src/domain/machines/versions.ts'
import type { MachineRow, RestInstanceRow, RestOfferRow } from './row-types.ts'

const dollars = (nanos: number) => nanos / 1e9

export function restOffersOf(rows: RestOfferRow[]) {
  return { offers: rows.map(offerRowOf) }
}

/** An instance has a row for each of its ports and volumes. Instances of the bench have one port and at most one volume. */
export function restInstanceOf([row]: RestInstanceRow[]) {
  return { instances: row ? instanceRowOf(row) : null }
}

function offerRowOf(row: RestOfferRow) {
  const disk = dollars(row.price_nanos - row.gpu_price_nanos)
  const [gpu, total] = [dollars(row.gpu_price_nanos), dollars(row.price_nanos)]
  const tflops = row.tflops * row.num_gpus
  return {
    id: row.id,
    ask_contract_id: row.id,
    bundle_id: row.machine_id * 100 + row.num_gpus,
    bundled_results: null,
    ...blockOf(row),
    external: null,
    resource_type: 'gpu',
    webpage: null,
    logo: '',
    total_flops: tflops,
    flops_per_dphtotal: tflops / total,
    dlperf: row.dlperf,
    dlperf_per_dphtotal: row.dlperf / total,
    score: row.score,
    rentable: true,
    rented: false,
    is_bid: false,
    start_date: row.start,
    end_date: row.end,
    duration: row.duration,
    time_remaining: '',
    time_remaining_isbid: '',
    dph_base: gpu,
    dph_total: total,
    discounted_dph_total: total,
    credit_discount_max: 0,
    min_bid: dollars(row.min_bid_nanos),
    storage_cost: dollars(row.disk_price_per_gb_month_nanos),
    storage_total_cost: disk,
    avail_vol_ask_id: row.machine_id,
    avail_vol_size: row.free_disk_mb / 1000,
    avail_vol_dph: disk,
    vram_costperhour: (gpu * 1024) / (row.ram_mb * row.num_gpus),
    search: hourlyOf(gpu, disk, total),
    instance: hourlyOf(0, disk, disk),
  }
}

function instanceRowOf(row: RestInstanceRow) {
  const { launch } = row
  const [gpu, disk] = [dollars(row.gpu_price_nanos), dollars(row.disk_nanos)]
  const total = dollars(row.gpu_price_nanos + row.disk_nanos)
  const held = row.holds_gpus ? 'running' : 'stopped'
  const block = blockOf(row)
  const volume = { id: row.volume_id, mount_path: row.mount_path, total_space: row.size_mb / 1000 }
  return {
    id: row.id,
    label: row.label,
    actual_status: row.status,
    intended_status: row.target_state,
    cur_state: held,
    next_state: held,
    status_msg: `success, running ${launch.image}. ${simulatedWarning}`,
    ...block,
    disk_space: row.disk_mb / 1000,
    bundle_id: row.machine_id * 100 + row.num_gpus,
    external: null,
    webpage: null,
    logo: '',
    gpu_totalram: block.gpu_total_ram,
    gpu_util: null,
    gpu_temp: null,
    cpu_util: 0,
    mem_limit: null,
    mem_usage: null,
    vmem_usage: null,
    disk_usage: -1,
    disk_util: -1,
    image_uuid: launch.image,
    image_args: launch.args,
    image_runtype: 'ssh_direct',
    extra_env: [
      ...launch.env.map(({ name, value }) => [name, value]),
      ...launch.ports.map(({ hostPort, containerPort }) => [`-p ${hostPort}:${containerPort}`, '1']),
    ],
    onstart: launch.onStart,
    jupyter_token: null,
    jupyter_url: null,
    template_id: row.template_id,
    template_hash_id: row.template_hash,
    template_name: null,
    volume_info: row.mount_path === null ? [] : [{ ...volume, avail_space: volume.total_space }],
    ports: { [`${row.container_port}/${row.protocol}`]: [{ HostIp: '0.0.0.0', HostPort: String(row.host_port) }] },
    local_ipaddrs: '',
    ssh_host: row.public_ip,
    ssh_port: row.host_port,
    ssh_user: 'root',
    ssh_idx: '',
    machine_dir_ssh_port: -1,
    direct_port_start: -1,
    direct_port_end: -1,
    is_bid: row.interruptible,
    min_bid: gpu,
    dph_base: gpu,
    dph_total: total,
    storage_cost: dollars(row.disk_price_per_gb_month_nanos),
    storage_total_cost: disk,
    score: ((row.dlperf_per_gpu * row.num_gpus) / total) * row.reliability,
    credit_balance: 0,
    credit_discount_max: 0,
    search: hourlyOf(gpu, disk, total),
    instance: hourlyOf(gpu, disk, total),
    start_date: row.start,
    end_date: row.end,
    duration: row.duration,
    uptime_mins: null,
    time_remaining: '',
  }
}

function blockOf(row: MachineRow) {
  const driver = driverVersionNumberOf(row.driver_version)
  return {
    machine_id: row.machine_id,
    host_id: row.host_id,
    hostname: null,
    cluster_id: null,
    gpu_name: row.gpu_name,
    gpu_arch: row.vendor,
    num_gpus: row.num_gpus,
    gpu_ids: Array.from({ length: row.num_gpus }, (_, index) => row.first_gpu + index),
    gpu_frac: row.num_gpus / row.machine_gpus,
    gpu_ram: row.ram_mb,
    gpu_total_ram: row.ram_mb * row.num_gpus,
    gpu_mem_bw: row.memory_bandwidth_gigabytes_per_second,
    gpu_max_power: row.max_power_watts,
    gpu_max_temp: row.gpu_max_temp_celsius,
    gpu_lanes: row.gpu_lanes,
    gpu_display_active: row.gpu_display_active,
    compute_cap: computeCapabilityNumberOf(row.compute_capability),
    bw_nvlink: row.nvlink_gigabytes_per_second,
    pci_gen: row.pci_generation,
    pcie_bw: row.pcie_gigabytes_per_second,
    cuda_max_good: versionNumberOf(row.cuda_version),
    driver_version: printDriverVersion(driver, row.vendor),
    driver_vers: driver,
    cpu_name: row.cpu_name,
    cpu_arch: row.cpu_arch,
    cpu_cores: row.cpu_cores,
    cpu_cores_effective: (row.cpu_cores * row.num_gpus) / row.machine_gpus,
    cpu_ghz: row.cpu_ghz,
    cpu_ram: row.cpu_ram_mb,
    has_avx: Number(row.has_avx),
    mobo_name: row.motherboard,
    os_version: versionNumberOf(row.os_version).toFixed(2),
    disk_name: row.disk_name,
    disk_space: row.free_disk_mb / 1000,
    disk_bw: row.disk_read_megabytes_per_second,
    inet_down: row.download_mbps,
    inet_up: row.upload_mbps,
    inet_down_cost: dollars(row.download_price_per_gb_nanos),
    inet_up_cost: dollars(row.upload_price_per_gb_nanos),
    internet_down_cost_per_tb: dollars(row.download_price_per_gb_nanos * 1000),
    internet_up_cost_per_tb: dollars(row.upload_price_per_gb_nanos * 1000),
    public_ipaddr: row.public_ip,
    static_ip: row.static_ip,
    direct_port_count: row.free_ports,
    geolocation: `${row.city}, ${row.country}`,
    geolocode: Number.parseInt(row.country, 36),
    hosting_type: Number(row.datacenter),
    vms_enabled: row.vms_enabled,
    verification: row.verification,
    vericode: Number(row.verification === 'verified'),
    reliability: row.reliability,
    reliability2: row.reliability,
    reliability_mult: row.reliability,
  }
}

function hourlyOf(gpu: number, disk: number, total: number) {
  return { gpuCostPerHour: gpu, diskHour: disk, totalHour: total, discountTotalHour: 0, discountedTotalPerHour: total }
}
