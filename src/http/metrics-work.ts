import { gauge, type Metric, type MetricSource } from './metrics.ts'

export type WorkMetricsOptions = {
  /** What the database tells of due work and of events. */
  measure(): Promise<{
    due: { kind: string; count: number; lagSeconds: number }[]
    deliveriesPending: number
    outboxLagSeconds: number
    eventsWaiting: number
  }>
  pool(): { totalCount: number; idleCount: number; waitingCount: number }
  streams(): number
}

/** What is to be done, and what it is done with. Without the database, that is said, and the rest is told. */
export function createWorkMetrics({ measure, pool, streams }: WorkMetricsOptions): MetricSource {
  return async () => {
    const measures = await measure().catch(() => undefined)
    const { totalCount, idleCount, waitingCount } = pool()
    return [
      gauge('berth_database_up', 'Whether the database answers: 1 or 0.', measures ? 1 : 0),
      {
        name: 'berth_database_connections',
        type: 'gauge',
        help: 'Connections to the database, in use or idle.',
        samples: [
          { labels: { state: 'busy' }, value: totalCount - idleCount },
          { labels: { state: 'idle' }, value: idleCount },
        ],
      },
      gauge('berth_database_connections_awaited', 'How many wait for a connection.', waitingCount),
      gauge('berth_streams', 'Streams that are open on this gateway.', streams()),
      ...(measures
        ? [
            ...dueMetrics(measures.due),
            gauge(
              'berth_webhook_deliveries_pending',
              'Deliveries to be tried, now or later.',
              measures.deliveriesPending,
            ),
            gauge(
              'berth_outbox_lag_seconds',
              'For how long the oldest transaction that holds back readers of events has been open.',
              measures.outboxLagSeconds,
            ),
            gauge(
              'berth_outbox_events_waiting',
              'Events that are written and cannot be read yet.',
              measures.eventsWaiting,
            ),
          ]
        : []),
    ]
  }
}

function dueMetrics(due: { kind: string; count: number; lagSeconds: number }[]): Metric[] {
  return [
    {
      name: 'berth_due_work',
      type: 'gauge',
      help: 'What is due and in no hands, in all gateways together.',
      samples: due.map(({ kind, count }) => ({ labels: { kind }, value: count })),
    },
    {
      name: 'berth_due_work_lag_seconds',
      type: 'gauge',
      help: 'How long the first of that has been due.',
      samples: due.map(({ kind, lagSeconds }) => ({ labels: { kind }, value: lagSeconds })),
    },
  ]
}
