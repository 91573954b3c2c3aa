// A program that sends requests to a gateway, as another machine would. Reads a `LoadJob` from standard input, and prints a
// `LoadReport`.

import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLoadClient } from './client.ts'
import type { LoadJob, LoadReport } from './load.ts'

const { url, from, requests, seconds, pace }: LoadJob = JSON.parse(await text(process.stdin))
const client = createLoadClient(new URL(url), from)
const outcomes: LoadReport['outcomes'] = []
const failures: Record<string, number> = {}
const startMs = performance.now()
const endMs = startMs + seconds * 1_000
let sent = 0

/** `dueMs`: when the request was to be sent. Later is the fault of this machine, and counts as waiting. */
async function sendNext(dueMs: number): Promise<void> {
  const request = requests[sent % requests.length]
  if (!request) throw new Error('The load has no requests.')
  sent += 1
  try {
    const { status, head } = await client.send(request)
    const atMs = Math.round(dueMs - startMs)
    const tookMs = Math.round((performance.now() - dueMs) * 10) / 10
    outcomes.push({ atMs, tookMs, status, saysWhen: /\r\nretry-after: \d/i.test(head) })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    failures[code ?? message] = (failures[code ?? message] ?? 0) + 1
  }
}

/** Sends as many a second, whatever becomes of them. */
async function sendAtRate(rate: number): Promise<void> {
  const pending: Promise<void>[] = []
  for (let nowMs = startMs; nowMs < endMs; nowMs = performance.now()) {
    const due = Math.floor(((nowMs - startMs) / 1_000) * rate)
    while (sent < due) pending.push(sendNext(startMs + ((sent + 1) / rate) * 1_000))
    await sleep(2)
  }
  await Promise.all(pending)
}

/** Each client sends its next request when the last one is answered, after a pause. */
async function sendInTurn(clients: number, pauseMs: number): Promise<void> {
  const one = async () => {
    while (performance.now() < endMs) {
      await sendNext(performance.now())
      if (pauseMs > 0) await sleep(pauseMs)
    }
  }
  await Promise.all(Array.from({ length: clients }, one))
}

if ('rate' in pace) await sendAtRate(pace.rate)
else await sendInTurn(pace.clients, pace.pauseMs ?? 0)
const tookSeconds = (performance.now() - startMs) / 1_000
client.close()
process.stdout.write(JSON.stringify({ sent, seconds: tookSeconds, outcomes, failures } satisfies LoadReport))
