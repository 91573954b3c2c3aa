import { monitorEventLoopDelay } from 'node:perf_hooks'
import { gauge, type MetricSource } from './metrics.ts'

/** What the process itself uses, how wrong its clock is, and how long it kept others waiting since it was asked before. */
export function createProcessMetrics(clockAheadMs: () => number): MetricSource {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  const seconds = (nanos: number) => (Number.isFinite(nanos) ? nanos / 1e9 : 0)
  return () => {
    const { rss, heapUsed } = process.memoryUsage()
    const metrics = [
      gauge('process_resident_memory_bytes', 'Memory that the process has.', rss),
      gauge('berth_heap_used_bytes', 'Memory that its objects use.', heapUsed),
      { ...gauge('process_cpu_seconds_total', 'Time that it computed.', cpuSeconds()), type: 'counter' as const },
      gauge(
        'berth_event_loop_delay_p99_seconds',
        'How late it did what was due, in 1 of 100 cases.',
        seconds(delay.percentile(99)),
      ),
      gauge('berth_event_loop_delay_max_seconds', 'How late it did what was due, at worst.', seconds(delay.max)),
      gauge('berth_clock_ahead_seconds', "How far its clock is ahead of the database's.", clockAheadMs() / 1_000),
      gauge('process_start_time_seconds', 'When it started.', performance.timeOrigin / 1_000),
    ]
    delay.reset()
    return metrics
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
