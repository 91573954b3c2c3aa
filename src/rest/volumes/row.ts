import { z } from 'zod'
import { blockRowSchema } from '../machines/row.ts'
import { alwaysNull, integer, number, text } from '../values.ts'

const { machine_id, host_id, cluster_id, disk_name, disk_bw, driver_version, verification, geolocation, ...others } =
  blockRowSchema.shape
const { inet_up, inet_down, inet_up_cost, inet_down_cost, reliability, reliability2, hosting_type, ...more } = others
const { cpu_arch, cpu_ghz, cuda_max_good, public_ipaddr, static_ip } = more

const machineColumns = {
  machine_id,
  host_id,
  cluster_id,
  disk_name,
  disk_bw,
  driver_version,
  verification,
  geolocation,
}
const networkColumns = { inet_up, inet_down, reliability, reliability2, hosting_type }

export const volumeRowSchema = z
  .object({
    id: integer('The volume.'),
    label: text('What it is called.'),
    disk_space: number('Its size, in GB.'),
    status: z.enum(['available', 'attached']).describe('Whether an instance has it.'),
    instances: z.array(integer('An instance.')).max(1).describe('The instance that has it, if any.'),
    mount_path: z.string().nullable().describe('Where that has it.'),
    start_date: number('When it was made, in seconds since 1970.'),
    storage_cost: number('What it costs, in $ per GB and month of 720 hours.'),
    storage_total_cost: number('What it costs, in $/h.'),
    ...machineColumns,
    ...networkColumns,
  })
  .meta({ id: 'Volume', description: 'A part of the disk of a machine that outlives instances.' })

export const volumeOfferRowSchema = z
  .object({
    id: integer('The offer: what a volume is made of. It stays the same as long as the machine is on the market.'),
    ask_contract_id: integer('The same as id.'),
    bundle_id: integer('The same as id: no two offers are of one machine.'),
    disk_space: number('What is free on the disk, in GB: the largest volume that can be made.'),
    allocated_storage: number('The size that the price is for, in GB.'),
    storage_cost: number('What it costs, in $ per GB and month of 720 hours.'),
    storage_total_cost: number('What a volume of allocated_storage costs, in $/h.'),
    dph_total: number('The same as storage_total_cost.'),
    duration: number('How long the machine is on the market, in seconds.'),
    end_date: number('Until when, in seconds since 1970.'),
    ...machineColumns,
    ...networkColumns,
    inet_up_cost,
    inet_down_cost,
    cpu_arch,
    cpu_ghz,
    cuda_max_good,
    public_ipaddr,
    static_ip,
    external: alwaysNull('Always null.'),
  })
  .meta({ id: 'VolumeOffer', description: 'The free disk of a machine, of which volumes can be made.' })
