import { accessOf, type Login } from '../../domain/instances/access.ts'
import type { Instance, PortBinding } from '../../domain/instances/instances.ts'
import type { InstanceMetrics } from '../../domain/instances/metrics.ts'
import { shownStatusOf } from '../../domain/instances/search/search.ts'
import { isFinal } from '../../domain/instances/states.ts'
import { printPort } from '../../domain/launch/env.ts'
import type { LaunchMode } from '../../domain/launch/launch.ts'
import { usdToNumber } from '../../domain/money.ts'
import { scoreOf } from '../../domain/offers/offers.ts'
import { blockRow, hourlyRow } from '../machines/present.ts'
import type { InstanceRow } from './row.ts'
import { usageRow } from './usage.ts'

const runtypeByMode: Record<LaunchMode, string> = {
  sshDirect: 'ssh_direct',
  sshProxy: 'ssh_proxy',
  jupyterDirect: 'jupyter_direct',
  jupyterProxy: 'jupyter_proxy',
  args: 'args',
}

type ReadElsewhere = { metrics?: InstanceMetrics | undefined; notebookToken?: string | undefined }

/** An instance as a row, with every field that clients read, in the types and units that they expect. */
export function instanceRow(instance: Instance, { metrics, notebookToken }: ReadElsewhere): InstanceRow {
  const { id, label, machine, launch, holdsGpus, targetState, portBindings } = instance
  const [gpu, disk] = [usdToNumber(instance.gpuPriceNanos), usdToNumber(instance.diskNanos)]
  const total = usdToNumber(instance.gpuPriceNanos + instance.diskNanos)
  const held = holdsGpus ? 'running' : 'stopped'
  const access = accessOf(instance)
  const block = blockRow(instance)
  return {
    id: Number(id),
    label,
    actual_status: shownStatusOf(instance),
    intended_status: targetState,
    cur_state: held,
    next_state: held,
    status_msg: statusMessageOf(instance),
    ...block,
    disk_space: instance.diskMb / 1000,
    bundle_id: machine.id * 100 + instance.numGpus,
    external: null,
    webpage: null,
    logo: '',
    gpu_totalram: block.gpu_total_ram,
    ...usageRow(instance, metrics),

    image_uuid: launch.image,
    image_args: launch.args,
    image_runtype: runtypeByMode[launch.mode],
    extra_env: [
      ...launch.env.map(({ name, value, secret }) => [name, secret ? '' : value]),
      ...launch.ports.map(port => [`-p ${printPort(port)}`, '1']),
    ],
    onstart: launch.onStart,
    jupyter_token: (access?.notebookUrl && notebookToken) || null,
    jupyter_url: access?.notebookUrl ?? null,
    template_id: instance.templateId,
    template_hash_id: instance.templateHash,
    template_name: null,
    volume_info: instance.volumes.map(({ volumeId, mountPath, sizeMb }) => ({
      id: Number(volumeId),
      mount_path: mountPath,
      total_space: sizeMb / 1000,
      // Simulated machines write nothing, so the whole volume is free.
      avail_space: sizeMb / 1000,
    })),

    ports: access ? portsRow(portBindings) : {},
    local_ipaddrs: '',
    ssh_host: access?.ssh?.host ?? null,
    ssh_port: access?.ssh ? access.ssh.port - sshPortOffset(launch.mode, access.ssh) : null,
    ssh_user: access?.ssh?.user ?? null,
    ssh_idx: '',
    machine_dir_ssh_port: -1,
    direct_port_start: -1,
    direct_port_end: -1,

    is_bid: instance.interruptible,
    min_bid: gpu,
    dph_base: gpu,
    dph_total: total,
    storage_cost: usdToNumber(instance.diskPricePerGbMonthNanos),
    storage_total_cost: disk,
    score: scoreOf(
      machine.dlperfPerGpu * instance.numGpus,
      instance.gpuPriceNanos + instance.diskNanos,
      machine.reliability,
    ),
    credit_balance: 0,
    credit_discount_max: 0,
    search: hourlyRow(gpu, disk, total),
    instance: instance.charged ? hourlyRow(gpu, disk, total) : hourlyRow(0, disk, disk),

    start_date: instance.createdAt.getTime() / 1000,
    end_date: instance.endsAt.getTime() / 1000,
    duration: (instance.endsAt.getTime() - instance.asOf.getTime()) / 1000,
    uptime_mins: null,
    time_remaining: '',
  }
}

function statusMessageOf(instance: Instance): string {
  const { status, reasonCode, reasonMessage, launch } = instance
  const shown = shownStatusOf(instance)
  if (status === 'running' && shown === 'running' && reasonCode !== 'HOST_UNREACHABLE')
    return [`success, running ${launch.image}`, accessOf(instance)?.warning].filter(Boolean).join('. ')
  if (reasonMessage !== null) return reasonMessage
  if (isFinal(status)) return `The instance is ${status}.`
  return instance.targetState === 'stopped'
    ? 'The instance has not been started yet.'
    : `The instance is being prepared: ${shown}.`
}

/**
 * In notebook modes behind the proxy, clients connect over SSH to `ssh_port` + 1, so the row shows one less than the real
 * port.
 */
function sshPortOffset(mode: LaunchMode, { proxied }: Login): number {
  return mode === 'jupyterProxy' && proxied ? 1 : 0
}

/** Bindings by container port, as docker prints them. */
function portsRow(bindings: PortBinding[]): InstanceRow['ports'] {
  const byPort = Map.groupBy(bindings, ({ containerPort, protocol }) => `${containerPort}/${protocol}`)
  const row = ({ hostPort }: PortBinding) => ({ HostIp: '0.0.0.0', HostPort: String(hostPort) })
  return Object.fromEntries([...byPort].map(([port, all]) => [port, all.map(row)]))
}
