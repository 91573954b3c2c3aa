import { z } from 'zod'
import { shownStatuses } from '../../domain/instances/search/search.ts'
import { targetStates } from '../../domain/instances/states.ts'
import { blockRowSchema, hourlySchema } from '../machines/row.ts'
import { alwaysNull, boolean, integer, number, text } from '../values.ts'

const state = (about: string) => z.enum(targetStates).describe(about)
const measured = (about: string) =>
  z.number().nullable().describe(`${about} Null unless the instance is running and its machine says it.`)
const optionalText = (about: string) => z.string().nullable().describe(about)

const portBindingSchema = z.object({
  HostIp: text('Address that the port listens on.'),
  HostPort: z.string().regex(/^\d+$/).describe("Port at the machine's public address, in digits."),
})

const attachedVolumeSchema = z.object({
  id: integer('ID of the volume.'),
  mount_path: text('Path of the volume inside the instance.'),
  total_space: number('Size of the volume, in GB.'),
  avail_space: number('Free space, in GB: all of it, since simulated machines write nothing.'),
})

/** Every column of an instance's row. */
export const instanceRowSchema = z
  .object({
    id: integer('ID of the instance.'),
    label: optionalText('Name that the renter gave the instance; null without one.'),
    actual_status: z
      .enum(shownStatuses)
      .describe('Last observed status. An exited, offline or unknown instance never runs again.'),
    intended_status: state('Desired state.'),
    cur_state: state('running if the instance holds its GPUs, else stopped.'),
    next_state: state('The same as cur_state.'),
    status_msg: text('Explanation of the status, for people.'),
    ...blockRowSchema.shape,
    disk_space: number('Size of the disk of the instance, in GB.'),
    bundle_id: integer('Equal for instances on one machine with the same number of GPUs.'),
    external: alwaysNull('Always null.'),
    webpage: alwaysNull('Always null.'),
    logo: text('Always "".'),
    gpu_totalram: integer('The same as gpu_total_ram.'),
    gpu_util: measured('Load of the GPUs, in percent, on average.'),
    gpu_temp: alwaysNull('Always null: the temperature is not measured.'),
    cpu_util: number("Load of the instance's share of the CPU cores, in percent; 0 if it is not known."),
    mem_limit: number("The instance's share of the memory of its machine, in GB."),
    mem_usage: measured('Memory in use, in GB.'),
    vmem_usage: measured('Memory of the GPUs in use, in GB.'),
    disk_usage: number('What the instance has written to its disk, in GB; -1 if it is not known.'),
    disk_util: number('Used fraction of the disk, 0 to 1; -1 if it is not known.'),

    image_uuid: text('Container image.'),
    image_args: z.array(z.string()).describe('Arguments of the image entrypoint.'),
    image_runtype: text('Launch mode.'),
    extra_env: z
      .array(z.array(z.string()).length(2))
      .describe(
        'Environment as pairs of name and value. A port is the pair "-p HOST:CONTAINER" and "1". Secret values are "".',
      ),
    onstart: optionalText('Shell commands that run once the instance is up; null without any.'),
    jupyter_token: optionalText(
      'Token of the notebook, while the instance runs. Null without a notebook, and for a key that may not run commands in the instance.',
    ),
    jupyter_url: optionalText(
      'Address of the notebook, while the instance runs; `?token=` and the token after it open it. Null without a notebook.',
    ),
    template_id: z.int().nullable().describe('ID of the template of the instance; null without one.'),
    template_hash_id: optionalText('Hash of the template when it was used; null without one.'),
    template_name: alwaysNull('Always null.'),
    volume_info: z.array(attachedVolumeSchema).describe('Attached volumes.'),

    ports: z
      .record(z.string(), z.array(portBindingSchema))
      .describe('Public ports by container port, such as "22/tcp". Empty unless the instance is running.'),
    local_ipaddrs: text('Always "".'),
    ssh_host: optionalText(
      'SSH host of a running instance: its machine or, without a public port for SSH, the proxy. Null if SSH is not available.',
    ),
    ssh_port: z
      .int()
      .nullable()
      .describe(
        'SSH port. With the proxy in the mode jupyter_proxy, one less than the real port, since clients add one. Null if SSH is not available.',
      ),
    ssh_user: optionalText('SSH user: "root" or, with the proxy, "ins_" and the id. Null if SSH is not available.'),
    ssh_idx: text('Always "".'),
    machine_dir_ssh_port: integer('Always -1.'),
    direct_port_start: integer('Always -1.'),
    direct_port_end: integer('Always -1.'),

    is_bid: boolean('Whether the instance is interruptible and runs at a bid.'),
    min_bid: number('Price of the GPUs, or the bid for them, in US dollars per hour.'),
    dph_base: number('Price of the GPUs while the instance runs, in US dollars per hour.'),
    dph_total: number('Price of the GPUs and the disk while the instance runs, in US dollars per hour.'),
    storage_cost: number('Price of the disk, in US dollars per GB per month of 720 hours.'),
    storage_total_cost: number('Price of the disk, in US dollars per hour.'),
    score: number('Deep learning performance per dollar, multiplied by reliability.'),
    credit_balance: number('Always 0: instances are not prepaid.'),
    credit_discount_max: number('Always 0.'),
    search: hourlySchema.describe('Price while the instance runs.'),
    instance: hourlySchema.describe('Current price.'),

    start_date: number('Time of the rental, in seconds since 1970.'),
    end_date: number('Time at which the machine leaves the market, in seconds since 1970.'),
    duration: number('Time from now until end_date, in seconds.'),
    uptime_mins: alwaysNull('Always null: the uptime is not measured.'),
    time_remaining: text('Always "".'),
  })
  .meta({ id: 'Instance', description: 'A rented instance and its container.' })

export type InstanceRow = z.output<typeof instanceRowSchema>

/** A row of a list that selects columns. A column that does not exist is null. */
export const instanceColumnsSchema = instanceRowSchema.partial().catchall(z.null()).meta({
  id: 'InstanceColumns',
  description: 'The selected columns of an instance. A column that does not exist is null.',
})

export type InstanceColumns = z.output<typeof instanceColumnsSchema>
