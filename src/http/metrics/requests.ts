import type { Metric } from './metrics.ts'

/** Upper bounds in seconds. A stream is timed until it begins. */
const bucketBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type RequestMetrics = {
  observe(path: string | undefined, status: number, ms: number): void
  read(): Metric[]
}

/** Counts requests by face and status, and records durations by face. */
export function createRequestMetrics(): RequestMetrics {
  const counts = new Map<string, { face: string; status: string; count: number }>()
  const durations = new Map<string, { buckets: number[]; sum: number; count: number }>()

  return {
    observe(path, status, ms) {
      const face = faceOf(path)
      const key = `${face} ${status}`
      const counted = counts.get(key) ?? { face, status: String(status), count: 0 }
      counts.set(key, { ...counted, count: counted.count + 1 })
      const duration = durations.get(face) ?? { buckets: bucketBounds.map(() => 0), sum: 0, count: 0 }
      const seconds = ms / 1_000
      duration.buckets = duration.buckets.map(
        (count, index) => count + Number(seconds <= (bucketBounds[index] as number)),
      )
      duration.sum += seconds
      duration.count += 1
      durations.set(face, duration)
    },
    read: () => [
      {
        name: 'berth_http_requests_total',
        type: 'counter',
        help: 'Requests answered.',
        samples: [...counts.values()].map(({ face, status, count }) => ({ labels: { face, status }, value: count })),
      },
      {
        name: 'berth_http_request_duration_seconds',
        type: 'histogram',
        help: 'Time to answer a request. A stream is timed until it begins.',
        samples: [...durations].flatMap(([face, { buckets, sum, count }]) => [
          ...buckets.map((value, index) => ({
            suffix: '_bucket',
            labels: { face, le: String(bucketBounds[index]) },
            value,
          })),
          { suffix: '_bucket', labels: { face, le: '+Inf' }, value: count },
          { suffix: '_sum', labels: { face }, value: sum },
          { suffix: '_count', labels: { face }, value: count },
        ]),
      },
    ],
  }
}

function faceOf(path = ''): string {
  if (path.startsWith('/api/')) return 'rest'
  return path === '/graphql' || path === '/graphql/' ? 'graphql' : 'other'
}
