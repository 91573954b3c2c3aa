import { z } from 'zod'
import { verifications } from '../../domain/machines/machines.ts'
import { alwaysNull, boolean, integer, number, text } from '../values.ts'

/** The columns that rows of offers and of instances share: what the GPUs are, and the machine that they are in. */
export const blockRowSchema = z.object({
  machine_id: integer('The machine; it stays the same when its offers change.'),
  host_id: integer('The account of the host that the machine belongs to.'),
  hostname: alwaysNull('Always null.'),
  cluster_id: alwaysNull('Always null: no machine is part of a cluster.'),
  gpu_name: text('The model of the GPUs, such as "RTX 4090" or "H100 SXM".'),
  gpu_arch: text('The make of the GPUs: "nvidia" or "amd".'),
  num_gpus: integer('How many GPUs the offer has.'),
  gpu_ids: z.array(integer('A GPU, counted from 0.')).describe('Which GPUs of the machine these are.'),
  gpu_frac: number("The offer's share of the machine's GPUs, from 0 to 1."),
  gpu_ram: integer('The memory of one GPU, in MB.'),
  gpu_total_ram: integer('The memory of all GPUs together, in MB.'),
  gpu_mem_bw: number('The memory bandwidth of one GPU, in GB/s.'),
  gpu_max_power: number('The power limit of one GPU, in W.'),
  gpu_max_temp: number('The temperature of the hottest GPU lately, in °C.'),
  gpu_lanes: integer('The PCIe lanes of each GPU.'),
  gpu_display_active: boolean('Whether a display is attached to a GPU.'),
  compute_cap: integer('The CUDA compute capability times 100: 890 is 8.9; 0 without CUDA.'),
  bw_nvlink: number('The bandwidth between the GPUs, in GB/s; 0 without NVLink.'),
  pci_gen: number('The PCIe generation.'),
  pcie_bw: number('The bandwidth between CPU and GPU, in GB/s.'),
  cuda_max_good: number('The newest CUDA version that the driver runs; 0 without CUDA.'),
  driver_version: text('The version of the GPU driver, such as "535.86.05".'),
  driver_vers: integer('The version of the GPU driver as one number: 535086005 is 535.86.05.'),

  cpu_name: text('The model of the CPU.'),
  cpu_arch: text('The architecture of the CPU: "amd64" or "arm64".'),
  cpu_cores: integer('The virtual cores of the whole machine.'),
  cpu_cores_effective: number("The offer's share of the cores."),
  cpu_ghz: number('The clock rate of the CPU, in GHz.'),
  cpu_ram: integer('The memory of the whole machine, in MB.'),
  has_avx: integer('1 if the CPU has AVX, else 0.'),
  mobo_name: text('The motherboard.'),
  os_version: text('The version of Ubuntu, such as "22.04".'),

  disk_name: text('The model of the disk.'),
  disk_space: number('What is free on the disk, in GB.'),
  disk_bw: number('The read bandwidth of the disk, in MB/s.'),

  inet_down: number('The download speed, in Mb/s.'),
  inet_up: number('The upload speed, in Mb/s.'),
  inet_down_cost: number('What downloads cost, in $/GB.'),
  inet_up_cost: number('What uploads cost, in $/GB.'),
  internet_down_cost_per_tb: number('What downloads cost, in $/TB.'),
  internet_up_cost_per_tb: number('What uploads cost, in $/TB.'),
  public_ipaddr: text('The public address of the machine.'),
  static_ip: boolean('Whether that address stays the same.'),
  direct_port_count: integer('How many public ports are free.'),

  geolocation: text('The city and the two letters of the country, such as "Seoul, KR".'),
  geolocode: integer("The country's two letters, read as a number to the base 36."),
  hosting_type: integer('1 for a machine in a datacenter, else 0.'),
  vms_enabled: boolean('Whether VMs can be rented.'),
  verification: z
    .enum(verifications)
    .describe('How far the machine has been checked: deverified is one that failed since.'),
  vericode: integer('1 for a verified machine, else 0.'),
  reliability: number('The share of the time that the machine kept its promises, from 0 to 1.'),
  reliability2: number('The same as reliability.'),
  reliability_mult: number('The same as reliability.'),
})

export const hourlySchema = z
  .object({
    gpuCostPerHour: number('The GPUs, in $/h.'),
    diskHour: number('The disk, in $/h.'),
    totalHour: number('Both together, in $/h.'),
    discountTotalHour: number('The discount, in $/h: always 0.'),
    discountedTotalPerHour: number('The total after the discount, in $/h.'),
  })
  .meta({ id: 'HourlyPrice', description: 'A price in parts.' })
