import { z } from 'zod'
import { verifications } from '../domain/machines.ts'
import { boolean, integer, nothing, number, text } from './values.ts'

const hourly = z
  .object({
    gpuCostPerHour: number('The GPUs, in $/h.'),
    diskHour: number('The disk that was asked for, in $/h.'),
    totalHour: number('Both together, in $/h.'),
    discountTotalHour: number('The discount, in $/h: always 0.'),
    discountedTotalPerHour: number('The total after the discount, in $/h.'),
  })
  .meta({ id: 'HourlyPrice', description: 'A price in parts.' })

/** Every column of an offer's row. Searches filter and order by most of them. */
export const offerRowSchema = z
  .object({
    id: integer('The offer. It is what an instance is created from, and is used up by that.'),
    ask_contract_id: integer('The same as id.'),
    bundle_id: integer('Equal for offers of one machine with the same number of GPUs.'),
    bundled_results: nothing('Always null.'),
    machine_id: integer('The machine; it stays the same when its offers change.'),
    host_id: integer('The account of the host that the machine belongs to.'),
    hostname: nothing('Always null.'),
    cluster_id: nothing('Always null: no machine is part of a cluster.'),
    external: nothing('Always null: no offer comes from another market.'),
    resource_type: z.literal('gpu').describe('What is rented: always "gpu".'),
    webpage: nothing('Always null.'),
    logo: text('Always "".'),

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

    total_flops: number('The single precision TFLOPS of all GPUs together.'),
    flops_per_dphtotal: number('TFLOPS per $/h of the total price.'),
    dlperf: number('The score of all GPUs together in a deep learning benchmark.'),
    dlperf_per_dphtotal: number('dlperf per $/h of the total price.'),
    score: number('How much the offer is worth its money: dlperf per $/h, times reliability.'),

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

    rentable: boolean('Whether it can be rented now.'),
    rented: boolean('Whether the asking account rents it.'),
    is_bid: boolean('Whether the prices are those of an interruptible rental.'),
    start_date: number('Since when the offer has this id, in seconds since 1970.'),
    end_date: number('Until when the machine is listed, in seconds since 1970.'),
    duration: number('How long it can be rented at most, in seconds from now.'),
    time_remaining: text('Always "".'),
    time_remaining_isbid: text('Always "".'),

    dph_base: number('The price of the GPUs, in $/h.'),
    dph_total: number('The price of the GPUs and of the disk that was asked for, in $/h.'),
    discounted_dph_total: number('The total price after discounts, in $/h; there are none.'),
    credit_discount_max: number('The greatest discount: always 0.'),
    min_bid: number('The least bid that would win the GPUs now, in $/h.'),
    storage_cost: number('The price of disk, in $ per GB and month of 720 hours.'),
    storage_total_cost: number('The price of the disk that was asked for, in $/h.'),
    vram_costperhour: number('The price of a GB of GPU memory, in $/h.'),
    search: hourly.describe('What an instance costs while it runs.'),
    instance: hourly.describe('What an instance costs while it is stopped.'),
  })
  .meta({ id: 'Offer', description: 'A machine, or a part of one, that can be rented.' })

export type OfferRow = z.output<typeof offerRowSchema>

/** Of a search that selects columns: those, with null for one that does not exist. */
export const offerColumnsSchema = offerRowSchema
  .partial()
  .catchall(z.null())
  .meta({ id: 'OfferColumns', description: 'The selected columns of an offer. One that does not exist is null.' })

export type OfferColumns = z.output<typeof offerColumnsSchema>
