import { gauge, type Metric } from '../http/metrics/metrics.ts'

const outcomes = ['accepted', 'refused', 'unfinished', 'limited'] as const
/**
 * How a connection went: it logged in, was refused, left or was cut off without trying a key, or was one too many of its
 * address, instance or account, or of the gateway.
 */
export type LoginOutcome = (typeof outcomes)[number]

export function createSshMetrics(openConnections: () => number) {
  const counts = new Map<LoginOutcome, number>(outcomes.map(outcome => [outcome, 0]))
  return {
    count(outcome: LoginOutcome): void {
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    },
    read: (): Metric[] => [
      gauge('berth_ssh_connections', 'Open SSH connections of this gateway.', openConnections()),
      {
        name: 'berth_ssh_logins_total',
        type: 'counter',
        help: 'SSH connections by how their login went.',
        samples: [...counts].map(([outcome, value]) => ({ labels: { outcome }, value })),
      },
    ],
  }
}
