import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { LoadRequest } from './client.ts'

export type LoadJob = {
  url: string
  /** The address that the requests come from. By default that of this machine. */
  from?: string
  /** Sent one after the other, again and again. */
  requests: LoadRequest[]
  seconds: number
  /** `rate`: requests a second, whatever becomes of them. `clients`: each sends its next request after the last answer. */
  pace: { rate: number } | { clients: number; pauseMs?: number }
}
/** `saysWhen`: whether the answer has the header Retry-After. */
type Outcome = { atMs: number; tookMs: number; status: number; saysWhen: boolean }
export type LoadReport = { sent: number; seconds: number; outcomes: Outcome[]; failures: Record<string, number> }

/** Sends load from a process of its own. */
export async function sendLoad(job: LoadJob): Promise<LoadReport> {
  const sender = spawn(process.execPath, [join(import.meta.dirname, 'sender.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  sender.stdin.end(JSON.stringify(job))
  return JSON.parse(await text(sender.stdout))
}

const refusals = new Set([429, 503])
export const isRefused = ({ status }: Outcome) => refusals.has(status)

/** The value below which a share of the values is; NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function describeLoad({ sent, seconds, outcomes, failures }: LoadReport) {
  const answered = outcomes.filter(outcome => !isRefused(outcome))
  const refused = outcomes.filter(isRefused)
  const times = (list: Outcome[]) => list.map(({ tookMs }) => tookMs)
  return {
    sent,
    perSecond: Math.round(answered.length / seconds),
    answered: answered.length,
    p50: quantile(times(answered), 0.5),
    p99: quantile(times(answered), 0.99),
    refused: refused.length,
    refusedP99: refused.length > 0 ? quantile(times(refused), 0.99) : 0,
    unsaid: refused.filter(({ saysWhen }) => !saysWhen).length,
    statuses: Object.fromEntries(
      [...Map.groupBy(outcomes, ({ status }) => status)].map(([status, list]) => [status, list.length]),
    ),
    failures,
  }
}
