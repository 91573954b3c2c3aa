import { z } from 'zod'
import { shownStatuses } from '../../domain/instances/search/search.ts'
import { targetStates } from '../../domain/instances/states.ts'
import { blockRowSchema, hourlySchema } from '../machines/row.ts'
import { alwaysNull, boolean, integer, number, text } from '../values.ts'

const state = (about: string) => z.enum(targetStates).describe(about)
const optionalText = (about: string) => z.string().nullable().describe(about)

const portBindingSchema = z.object({
  HostIp: text('The address that it listens on.'),
  HostPort: z.string().regex(/^\d+$/).describe("The port at the machine's public address, in digits."),
})

const attachedVolumeSchema = z.object({
  id: integer('The volume.'),
  mount_path: text('Where it is inside.'),
  total_space: number('Its size, in GB.'),
  avail_space: number('What of that is free, in GB: all of it, since simulated machines write nothing.'),
})

/** Every column of an instance's row. */
export const instanceRowSchema = z
  .object({
    id: integer('The instance.'),
    label: optionalText('What its renter calls it.'),
    actual_status: z
      .enum(shownStatuses)
      .describe('What was last seen of it. From exited, offline and unknown it never runs again.'),
    intended_status: state('What is wished of it.'),
    cur_state: state('Whether it has its GPUs.'),
    next_state: state('Whether it has its GPUs, or will at once.'),
    status_msg: text('What its status is about, for people.'),
    ...blockRowSchema.shape,
    bundle_id: integer('Equal for instances of one machine with the same number of GPUs.'),
    external: alwaysNull('Always null.'),
    webpage: alwaysNull('Always null.'),
    logo: text('Always "".'),
    gpu_totalram: integer('The same as gpu_total_ram.'),
    gpu_util: alwaysNull('Always null: the GPUs are not measured.'),
    gpu_temp: alwaysNull('Always null: the GPUs are not measured.'),
    cpu_util: number('Always 0: the CPU is not measured.'),
    mem_limit: alwaysNull('Always null: the memory is not measured.'),
    mem_usage: alwaysNull('Always null: the memory is not measured.'),
    vmem_usage: alwaysNull('Always null: the memory is not measured.'),
    disk_usage: integer('Always -1: the disk is not measured.'),
    disk_util: integer('Always -1: the disk is not measured.'),

    image_uuid: text('The image.'),
    image_args: z.array(z.string()).describe('What its entrypoint is called with.'),
    image_runtype: text('The launch mode.'),
    extra_env: z
      .array(z.array(z.string()).length(2))
      .describe('The environment, as pairs of name and value; a port is a pair of "-p HOST:CONTAINER" and "1".'),
    onstart: optionalText('The commands that run once it is up.'),
    jupyter_token: optionalText('Always null.'),
    template_id: z.int().nullable().describe('The template that it began with; null without one.'),
    template_hash_id: optionalText('The hash by which that was named; null without one.'),
    template_name: alwaysNull('Always null.'),
    volume_info: z.array(attachedVolumeSchema).describe('Its volumes.'),

    ports: z
      .record(z.string(), z.array(portBindingSchema))
      .describe('By port inside, such as "22/tcp": where it is reached while it runs.'),
    local_ipaddrs: text('Addresses inside its machine.'),
    ssh_host: optionalText(
      'Where SSH answers while it runs: its machine or, without a public port for SSH, the proxy; null where there is none.',
    ),
    ssh_port: z
      .int()
      .nullable()
      .describe('The port for that. At a proxy, in the mode jupyter_proxy, one less: clients add one there.'),
    ssh_user: optionalText('Whom to log in as: "root" or, at a proxy, "ins_" and the id.'),
    ssh_idx: text('Always "".'),
    machine_dir_ssh_port: integer('Always -1.'),
    direct_port_start: integer('Always -1.'),
    direct_port_end: integer('Always -1.'),

    is_bid: boolean('Whether it runs at a bid.'),
    min_bid: number('What it pays for its GPUs, or bids, in $/h.'),
    dph_base: number('What its GPUs cost while it runs, in $/h.'),
    dph_total: number('What its GPUs and its disk cost while it runs, in $/h.'),
    storage_cost: number('What its disk costs, in $ per GB and month of 720 hours.'),
    storage_total_cost: number('What its disk costs, in $/h.'),
    score: number('Deep learning performance per dollar, times reliability.'),
    credit_balance: number('Always 0: nothing is paid ahead for one instance.'),
    credit_discount_max: number('Always 0.'),
    search: hourlySchema.describe('What it costs while it runs.'),
    instance: hourlySchema.describe('What it costs now.'),

    start_date: number('When it was rented, in seconds since 1970.'),
    end_date: number('When its machine leaves the market, in seconds since 1970.'),
    duration: number('How long that is from now, in seconds.'),
    uptime_mins: alwaysNull('Always null: the time since its start is not measured.'),
    time_remaining: text('Always "".'),
  })
  .meta({ id: 'Instance', description: 'A rental, with the container on it.' })

export type InstanceRow = z.output<typeof instanceRowSchema>

/** Of a list that selects columns: those, with null for one that does not exist. */
export const instanceColumnsSchema = instanceRowSchema
  .partial()
  .catchall(z.null())
  .meta({ id: 'InstanceColumns', description: 'The selected columns of an instance. One that does not exist is null.' })

export type InstanceColumns = z.output<typeof instanceColumnsSchema>
