import { z } from 'zod'
import { usdToNumber } from '../../domain/money.ts'
import type { HostedMachine } from '../../services/machines/hosted.ts'
import { alwaysNull, boolean, integer, number, text } from '../values.ts'
import { blockRow } from './present.ts'
import { blockRowSchema } from './row.ts'

const { machine_id, geolocation, num_gpus, gpu_name, gpu_ram, cpu_name, cpu_ram, cpu_cores, ...others } =
  blockRowSchema.shape
const { inet_up, inet_down, reliability2, public_ipaddr, driver_version, hosting_type, verification } = others

export const hostedMachineSchema = z
  .object({
    id: integer('ID of the machine.'),
    machine_id,
    hostname: alwaysNull('Always null.'),
    timeout: alwaysNull('Always null: machines send no heartbeats.'),
    geolocation,
    num_gpus,
    gpu_name,
    gpu_ram,
    cpu_name,
    cpu_ram,
    cpu_cores,
    listed: boolean('Whether the machine is on the market.'),
    listed_gpu_cost: number('Price of one GPU, in US dollars per hour.'),
    listed_storage_cost: number('Price of disk, in US dollars per GB per month of 720 hours.'),
    listed_volume_cost: number('Price of volumes; the same as listed_storage_cost.'),
    listed_inet_up_cost: number('Price of uploads, in US dollars per GB.'),
    listed_inet_down_cost: number('Price of downloads, in US dollars per GB.'),
    min_bid_price: number('Minimum bid for one GPU, in US dollars per hour.'),
    end_date: number('Time at which the machine leaves the market, in seconds since 1970.'),
    gpu_occupancy: text('One letter for each GPU: D if rented on demand, I if interruptible, x if free.'),
    current_rentals_resident: integer('Number of instances on the machine.'),
    current_rentals_running: integer('Number of running instances on the machine.'),
    disk_space: number('Size of the disk, in GB.'),
    inet_up,
    inet_down,
    earn_hour: alwaysNull('Always null: Berth does not track earnings of hosts.'),
    earn_day: alwaysNull('Always null: Berth does not track earnings of hosts.'),
    reliability2,
    verification,
    public_ipaddr,
    driver_version,
    cuda_max_good: text('Newest CUDA version that the driver supports, such as "12.8".'),
    hosting_type,
  })
  .meta({ id: 'HostedMachine', description: 'A machine, as its host sees it.' })

const occupancyLetters = { free: 'x', onDemand: 'D', interruptible: 'I' }

export function hostedMachineRow(machine: HostedMachine): z.output<typeof hostedMachineSchema> {
  const { id, gpuUses, asOf, listedUntil, unlistedAt, diskPricePerGbMonthNanos } = machine
  const row = blockRow({ machine, firstGpu: 0, numGpus: machine.numGpus })
  return {
    id,
    machine_id: id,
    hostname: null,
    timeout: null,
    geolocation: row.geolocation,
    num_gpus: row.num_gpus,
    gpu_name: row.gpu_name,
    gpu_ram: row.gpu_ram,
    cpu_name: row.cpu_name,
    cpu_ram: row.cpu_ram,
    cpu_cores: row.cpu_cores,
    listed: unlistedAt === null && listedUntil > asOf,
    listed_gpu_cost: usdToNumber(machine.gpuNanos),
    listed_storage_cost: usdToNumber(diskPricePerGbMonthNanos),
    listed_volume_cost: usdToNumber(diskPricePerGbMonthNanos),
    listed_inet_up_cost: row.inet_up_cost,
    listed_inet_down_cost: row.inet_down_cost,
    min_bid_price: usdToNumber(machine.minBidGpuNanos),
    end_date: listedUntil.getTime() / 1000,
    gpu_occupancy: gpuUses.map(use => occupancyLetters[use]).join(' '),
    current_rentals_resident: machine.instanceCount,
    current_rentals_running: machine.runningInstanceCount,
    disk_space: machine.diskMb / 1000,
    inet_up: row.inet_up,
    inet_down: row.inet_down,
    earn_hour: null,
    earn_day: null,
    reliability2: row.reliability2,
    verification: row.verification,
    public_ipaddr: row.public_ipaddr,
    driver_version: row.driver_version,
    cuda_max_good: row.cuda_max_good.toFixed(1),
    hosting_type: row.hosting_type,
  }
}
