import { type InstanceStatus, instanceStatuses } from '../../domain/instances/states.ts'
import { machineStates } from '../../domain/machines/state.ts'
import { gauge, type Metric } from './metrics.ts'

export type MarketFigures = {
  machines: { state: string; count: number }[]
  instances: { status: InstanceStatus; count: number }[]
  machinesUnreachable: number
  hostsConnected: number
  webhooksFailing: number
}

/** What the market has, over all gateways. Every state has a sample, so that an alert sees the first of it. */
export function marketMetrics({ machines, instances, ...counts }: MarketFigures): Metric[] {
  return [
    {
      name: 'berth_machines',
      type: 'gauge',
      help: 'Machines by what they are to the market.',
      samples: machineStates.map(state => ({
        labels: { state },
        value: machines.find(machine => machine.state === state)?.count ?? 0,
      })),
    },
    {
      name: 'berth_instances',
      type: 'gauge',
      help: 'Instances that are not destroyed.',
      samples: instanceStatuses.map(status => ({
        labels: { status },
        value: instances.find(instance => instance.status === status)?.count ?? 0,
      })),
    },
    gauge(
      'berth_machines_unreachable',
      'Machines that have not answered for a minute and are not drained.',
      counts.machinesUnreachable,
    ),
    gauge('berth_hosts_connected', 'Hosts that are connected to a gateway.', counts.hostsConnected),
    gauge('berth_webhooks_failing', 'Webhooks whose last attempt failed.', counts.webhooksFailing),
  ]
}
