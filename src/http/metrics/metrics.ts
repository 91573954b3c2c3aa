// Metrics in the Prometheus text format. No label has an id, a path or any other value that a client chooses.

export type Metric = {
  name: string
  type: 'gauge' | 'counter' | 'histogram'
  help: string
  samples: { suffix?: string; labels?: Record<string, string>; value: number }[]
}

/** Reads current values. Called when an operator reads the metrics, at most once a second. */
export type MetricSource = () => Metric[] | Promise<Metric[]>

const cacheMs = 1_000
const contentType = 'text/plain; version=0.0.4; charset=utf-8'

export function createMetrics(sources: MetricSource[]): () => Promise<Response> {
  let text: Promise<string> | undefined
  let readAt = 0

  return async () => {
    if (text === undefined || performance.now() - readAt >= cacheMs) {
      readAt = performance.now()
      text = Promise.all(sources.map(async read => await read())).then(metrics => printMetrics(metrics.flat()))
    }
    return new Response(await text, { headers: { 'content-type': contentType, 'cache-control': 'no-store' } })
  }
}

export function printMetrics(metrics: Metric[]): string {
  return metrics.flatMap(printMetric).join('')
}

function printMetric({ name, type, help, samples }: Metric): string[] {
  const lines = samples.map(({ suffix = '', labels = {}, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
    return `${name}${suffix}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`
  })
  return [`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`, ...lines]
}

function escapeLabel(text: string): string {
  return text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')
}

/** A gauge with one sample. */
export function gauge(name: string, help: string, value: number): Metric {
  return { name, type: 'gauge', help, samples: [{ value }] }
}
