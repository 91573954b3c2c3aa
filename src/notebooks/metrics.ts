import { gauge, type Metric } from '../http/metrics/metrics.ts'

const outcomes = ['answered', 'refused', 'unreachable', 'unfinished', 'limited'] as const
/**
 * How a request went: the notebook answered it, the gateway refused it, the notebook could not be reached, the client
 * left before an answer, or it was one too many.
 */
export type RequestOutcome = (typeof outcomes)[number]

export function createNotebookMetrics(openConnections: () => number) {
  const counts = new Map<RequestOutcome, number>(outcomes.map(outcome => [outcome, 0]))
  return {
    count(outcome: RequestOutcome): void {
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    },
    read: (): Metric[] => [
      gauge(
        'berth_notebook_connections',
        'Requests and WebSockets of notebooks that this gateway serves now.',
        openConnections(),
      ),
      {
        name: 'berth_notebook_requests_total',
        type: 'counter',
        help: 'Requests and WebSockets of notebooks by how they went.',
        samples: [...counts].map(([outcome, value]) => ({ labels: { outcome }, value })),
      },
    ],
  }
}
