import { z } from 'zod'
import { verifications } from '../../domain/machines/machines.ts'
import { alwaysNull, boolean, integer, number, text } from '../values.ts'

/** The columns that rows of offers and instances share: their GPUs and their machine. */
export const blockRowSchema = z.object({
  machine_id: integer('ID of the machine. It stays the same when its offers change.'),
  host_id: integer('ID of the account of the host that owns the machine.'),
  hostname: alwaysNull('Always null.'),
  cluster_id: alwaysNull('Always null: no machine is part of a cluster.'),
  gpu_name: text('Model of the GPUs, such as "RTX 4090" or "H100 SXM".'),
  gpu_arch: text('Vendor of the GPUs: "nvidia" or "amd".'),
  num_gpus: integer('Number of GPUs.'),
  gpu_ids: z.array(integer('Number of a GPU, from 0.')).describe('Numbers of the GPUs on their machine.'),
  gpu_frac: number("Share of the machine's GPUs, from 0 to 1."),
  gpu_ram: integer('Memory of one GPU, in MB.'),
  gpu_total_ram: integer('Memory of all GPUs together, in MB.'),
  gpu_mem_bw: number('Memory bandwidth of one GPU, in GB/s.'),
  gpu_max_power: number('Power limit of one GPU, in W.'),
  gpu_max_temp: number('Recent temperature of the hottest GPU, in °C.'),
  gpu_lanes: integer('PCIe lanes of each GPU.'),
  gpu_display_active: boolean('Whether a display is attached to a GPU.'),
  compute_cap: integer('CUDA compute capability times 100: 890 means 8.9; 0 without CUDA.'),
  bw_nvlink: number('Bandwidth between the GPUs, in GB/s; 0 without NVLink.'),
  pci_gen: number('PCIe generation.'),
  pcie_bw: number('Bandwidth between CPU and GPU, in GB/s.'),
  cuda_max_good: number('Newest CUDA version that the driver supports; 0 without CUDA.'),
  driver_version: text('Version of the GPU driver, such as "535.86.05".'),
  driver_vers: integer('Version of the GPU driver as a number: 535086005 means 535.86.05.'),

  cpu_name: text('Model of the CPU.'),
  cpu_arch: text('Architecture of the CPU: "amd64" or "arm64".'),
  cpu_cores: integer('Virtual cores of the whole machine.'),
  cpu_cores_effective: number("Virtual cores in proportion to the share of the machine's GPUs."),
  cpu_ghz: number('Clock rate of the CPU, in GHz.'),
  cpu_ram: integer('Memory of the whole machine, in MB.'),
  has_avx: integer('1 if the CPU has AVX, else 0.'),
  mobo_name: text('Model of the motherboard.'),
  os_version: text('Version of Ubuntu, such as "22.04".'),

  disk_name: text('Model of the disk.'),
  disk_space: number('Free space on the disk of the machine, in GB.'),
  disk_bw: number('Read bandwidth of the disk, in MB/s.'),

  inet_down: number('Download speed, in Mb/s.'),
  inet_up: number('Upload speed, in Mb/s.'),
  inet_down_cost: number('Price of downloads, in US dollars per GB.'),
  inet_up_cost: number('Price of uploads, in US dollars per GB.'),
  internet_down_cost_per_tb: number('Price of downloads, in US dollars per TB.'),
  internet_up_cost_per_tb: number('Price of uploads, in US dollars per TB.'),
  public_ipaddr: text('Public IP address of the machine.'),
  static_ip: boolean('Whether the public IP address is static.'),
  direct_port_count: integer('Number of free public ports.'),

  geolocation: text('City and two-letter country code, such as "Seoul, KR".'),
  geolocode: integer('Country code, read as a number in base 36.'),
  hosting_type: integer('1 if the machine is in a datacenter, else 0.'),
  vms_enabled: boolean('Whether the machine can run virtual machines.'),
  verification: z
    .enum(verifications)
    .describe('Whether the operator has verified the machine; deverified means that the machine has failed since.'),
  vericode: integer('1 if the machine is verified, else 0.'),
  reliability: number(
    'From 0 to 1: what the operator states, lowered by failed starts and by the time without an answer in the last 30 days.',
  ),
  reliability2: number('The same as reliability.'),
  reliability_mult: number('The same as reliability.'),
})

export const hourlySchema = z
  .object({
    gpuCostPerHour: number('Price of the GPUs, in US dollars per hour.'),
    diskHour: number('Price of the disk, in US dollars per hour.'),
    totalHour: number('Price of the GPUs and the disk, in US dollars per hour.'),
    discountTotalHour: number('Discount, in US dollars per hour; always 0.'),
    discountedTotalPerHour: number('Total price after the discount, in US dollars per hour.'),
  })
  .meta({ id: 'HourlyPrice', description: 'The parts of an hourly price.' })
