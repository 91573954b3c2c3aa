import type { BackgroundShares } from '../measure/background.ts'
import type { StreamFigures } from '../workloads/streams.ts'
import { printNumber } from './table.ts'

export function printStreams({ streams, memoryMb, deliveriesPerSecond, p50, p99 }: StreamFigures): string {
  const title = `${streams.toLocaleString('en-US')} streams of events, each with the events of 64 labels at a time`
  const figures = `${printNumber(memoryMb)} MB more memory, ${printNumber(deliveriesPerSecond)} deliveries a second`
  return `\nW9  ${title}\n\n  ${figures}, p50 ${printNumber(p50)} ms, p99 ${printNumber(p99)} ms\n`
}

export function printBackground({ node, postgres }: BackgroundShares): string {
  const percent = (share: number) => `${printNumber(100 * share)} %`
  const figures = `Node ${percent(node)} of a core, PostgreSQL ${percent(postgres)}`
  return `\nidle  a gateway without requests, for the instances that run\n\n  ${figures}\n`
}
