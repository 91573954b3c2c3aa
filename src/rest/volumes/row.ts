import { z } from 'zod'
import { blockRowSchema } from '../machines/row.ts'
import { alwaysNull, integer, number, text } from '../values.ts'

const { machine_id, host_id, cluster_id, disk_name, disk_bw, driver_version, verification, geolocation, ...others } =
  blockRowSchema.shape
const { inet_up, inet_down, inet_up_cost, inet_down_cost, reliability, reliability2, hosting_type, ...more } = others
const { cpu_arch, cpu_ghz, cuda_max_good, public_ipaddr, static_ip } = more

const machineRowColumns = {
  machine_id,
  host_id,
  cluster_id,
  disk_name,
  disk_bw,
  driver_version,
  verification,
  geolocation,
}
const networkRowColumns = { inet_up, inet_down, reliability, reliability2, hosting_type }

export const volumeRowSchema = z
  .object({
    id: integer('ID of the volume.'),
    label: text('Name of the volume.'),
    disk_space: number('Size of the volume, in GB.'),
    status: z.enum(['available', 'attached']).describe('attached if an instance has the volume, else available.'),
    instances: z
      .array(integer('ID of an instance.'))
      .max(1)
      .describe('ID of the instance that has the volume, if any.'),
    mount_path: z.string().nullable().describe('Path of the volume inside that instance; null if no instance has it.'),
    start_date: number('Time of creation, in seconds since 1970.'),
    storage_cost: number('Price of the volume, in US dollars per GB per month of 720 hours.'),
    storage_total_cost: number('Price of the volume, in US dollars per hour.'),
    ...machineRowColumns,
    ...networkRowColumns,
  })
  .meta({ id: 'Volume', description: 'A volume: a part of the disk of a machine that outlives instances.' })

export const volumeOfferRowSchema = z
  .object({
    id: integer('ID of the volume offer. It stays the same while the machine is on the market.'),
    ask_contract_id: integer('The same as id.'),
    bundle_id: integer('The same as id, since a machine has one volume offer.'),
    disk_space: number('Free space on the disk and maximum size of a volume, in GB.'),
    allocated_storage: number('Size that the price is for, in GB.'),
    storage_cost: number('Price of storage, in US dollars per GB per month of 720 hours.'),
    storage_total_cost: number('Price of a volume of the size allocated_storage, in US dollars per hour.'),
    dph_total: number('The same as storage_total_cost.'),
    duration: number('Time from now until end_date, in seconds.'),
    end_date: number('Time at which the machine leaves the market, in seconds since 1970.'),
    ...machineRowColumns,
    ...networkRowColumns,
    inet_up_cost,
    inet_down_cost,
    cpu_arch,
    cpu_ghz,
    cuda_max_good,
    public_ipaddr,
    static_ip,
    external: alwaysNull('Always null.'),
  })
  .meta({ id: 'VolumeOffer', description: 'A volume offer: the free disk of a machine, for volumes.' })
