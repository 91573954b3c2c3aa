import { monitorEventLoopDelay } from 'node:perf_hooks'
import { gauge, type MetricSource } from './metrics.ts'

/** The build, memory, CPU time and clock offset of the process, and the event loop delay since the last read. */
export function createProcessMetrics(clockAheadMs: () => number, build: Record<string, string>): MetricSource {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  const seconds = (nanos: number) => (Number.isFinite(nanos) ? nanos / 1e9 : 0)
  return () => {
    const { rss, heapUsed } = process.memoryUsage()
    const metrics = [
      {
        name: 'berth_build_info',
        type: 'gauge' as const,
        help: 'Which version runs. The value is 1.',
        samples: [{ labels: build, value: 1 }],
      },
      gauge('process_resident_memory_bytes', 'Resident memory of the process.', rss),
      gauge('berth_heap_used_bytes', 'Memory used by JavaScript objects.', heapUsed),
      {
        ...gauge('process_cpu_seconds_total', 'CPU time used by the process.', cpuSeconds()),
        type: 'counter' as const,
      },
      gauge(
        'berth_event_loop_delay_p99_seconds',
        '99th percentile of the event loop delay since the last read.',
        seconds(delay.percentile(99)),
      ),
      gauge('berth_event_loop_delay_max_seconds', 'Longest event loop delay since the last read.', seconds(delay.max)),
      gauge(
        'berth_clock_ahead_seconds',
        "How far the gateway's clock is ahead of the database's.",
        clockAheadMs() / 1_000,
      ),
      gauge('process_start_time_seconds', 'Unix time at which the process started.', performance.timeOrigin / 1_000),
    ]
    delay.reset()
    return metrics
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
