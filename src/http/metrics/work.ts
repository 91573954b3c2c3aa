import { type MarketFigures, marketMetrics } from './market.ts'
import { gauge, type Metric, type MetricSource } from './metrics.ts'

type WorkMetricsOptions = {
  /** Reads figures on due work and events from the database. */
  measure(): Promise<{
    due: { kind: string; count: number; lagSeconds: number }[]
    deliveriesPending: number
    outboxLagSeconds: number
    eventsWaiting: number
    failovers: number
  }>
  /** Counts what the market has. */
  measureMarket(): Promise<MarketFigures>
  /** The connections to the database, by what they are for. */
  pools: Record<string, { totalCount: number; idleCount: number; waiting: number }>
  streams(): number
}

/** Due work, and the resources for it. Without the database, reports that it is down, and what needs no database. */
export function createWorkMetrics({ measure, measureMarket, pools, streams }: WorkMetricsOptions): MetricSource {
  return async () => {
    const [measures, market] = await Promise.all([
      measure().catch(() => undefined),
      measureMarket().catch(() => undefined),
    ])
    const byUse = Object.entries(pools)
    return [
      gauge('berth_database_up', 'Whether the database answers: 1 or 0.', measures ? 1 : 0),
      {
        name: 'berth_database_connections',
        type: 'gauge',
        help: 'Connections to the database, in use or idle.',
        samples: byUse.flatMap(([use, { totalCount, idleCount }]) => [
          { labels: { use, state: 'busy' }, value: totalCount - idleCount },
          { labels: { use, state: 'idle' }, value: idleCount },
        ]),
      },
      {
        name: 'berth_database_connections_awaited',
        type: 'gauge',
        help: 'Callers that wait for a database connection.',
        samples: byUse.map(([use, { waiting }]) => ({ labels: { use }, value: waiting })),
      },
      gauge('berth_streams', 'Open streams on this gateway.', streams()),
      ...(measures
        ? [
            ...dueMetrics(measures.due),
            gauge(
              'berth_webhook_deliveries_pending',
              'Webhook deliveries to attempt, now or later.',
              measures.deliveriesPending,
            ),
            gauge(
              'berth_outbox_lag_seconds',
              'Age of the oldest open transaction that holds back readers of events.',
              measures.outboxLagSeconds,
            ),
            gauge('berth_outbox_events_waiting', 'Events written that cannot be read yet.', measures.eventsWaiting),
            gauge('berth_failovers', 'How often the database failed over or was restored.', measures.failovers),
          ]
        : []),
      ...(market ? marketMetrics(market) : []),
    ]
  }
}

function dueMetrics(due: { kind: string; count: number; lagSeconds: number }[]): Metric[] {
  return [
    {
      name: 'berth_due_work',
      type: 'gauge',
      help: 'Due work that no gateway has leased, over all gateways.',
      samples: due.map(({ kind, count }) => ({ labels: { kind }, value: count })),
    },
    {
      name: 'berth_due_work_lag_seconds',
      type: 'gauge',
      help: 'How long the oldest work without a lease has been due.',
      samples: due.map(({ kind, lagSeconds }) => ({ labels: { kind }, value: lagSeconds })),
    },
  ]
}
