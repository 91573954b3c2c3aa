import { gauge, type Metric } from '../metrics/metrics.ts'
import type { Admission } from './admission.ts'

export function admissionMetrics({ figures }: Admission): Metric[] {
  const { running, waiting, atOnce, waited, refused } = figures()
  return [
    gauge('berth_requests_running', 'Requests that are answered now.', running),
    gauge('berth_requests_waiting', 'Requests that wait until they may run.', waiting),
    {
      name: 'berth_requests_admitted_total',
      type: 'counter',
      help: 'Requests that began to run at once, that waited before, and that were refused.',
      samples: Object.entries({ at_once: atOnce, waited, refused }).map(([outcome, value]) => ({
        labels: { outcome },
        value,
      })),
    },
  ]
}
