import { streamLimits } from '../../../src/domain/streams.ts'
import { openConnection } from '../measure/connection.ts'
import { readMemoryMb } from '../measure/processes.ts'
import { percentile } from '../measure/statistics.ts'
import { openStream, type Stream } from '../measure/stream.ts'
import type { Program } from '../setup/programs.ts'
import { labelRequest } from './fleet-commands.ts'
import type { Fleet } from './fleets.ts'
import { graphqlRequest } from './requests.ts'

const query =
  'subscription { events(filter: {kinds: [INSTANCE_LABEL_CHANGED]}) { cursor node { kind changes { field after } } } }'

/** All at once would wait for the database longer than a gateway lets them. */
const openedAtOnce = 50
const patienceMs = 30_000

export type StreamFigures = { streams: number; memoryMb: number; deliveriesPerSecond: number; p50: number; p99: number }

/**
 * Opens streams for the accounts of the fleets. Then labels one fleet after the other, each time when all streams of the
 * account before have all its events. A latency is the time from the request to the arrival of one event.
 */
export async function measureStreams(
  gateway: Program,
  fleets: Fleet[],
  { streams: wanted, seconds }: { streams: number; seconds: number },
): Promise<StreamFigures> {
  const streams = Math.min(wanted, streamLimits.perKey * fleets.length)
  const before = (await readMemoryMb(gateway.pid)) ?? Number.NaN
  const latencies: number[] = []
  const round = { sent: 0, missing: 0, done: () => {} }
  const onResults = (count: number) => {
    for (let index = 0; index < count; index += 1) latencies.push(performance.now() - round.sent)
    round.missing -= count
    if (round.missing <= 0) round.done()
  }
  const open = (index: number) => {
    const { account } = fleets[index % fleets.length] as Fleet
    return openStream(gateway.url, graphqlRequest(query, {}, account), onResults)
  }
  const opened: Stream[] = []
  while (opened.length < streams) {
    const first = opened.length
    const count = Math.min(openedAtOnce, streams - first)
    opened.push(...(await Promise.all(Array.from({ length: count }, (_, index) => open(first + index)))))
  }
  const memoryMb = ((await readMemoryMb(gateway.pid)) ?? Number.NaN) - before
  const connection = await openConnection(gateway.url)
  const start = performance.now()
  for (let index = 0; performance.now() - start < seconds * 1_000; index += 1) {
    const fleet = fleets[index % fleets.length] as Fleet
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => reject(new Error(`The streams miss ${round.missing} events.`)), patienceMs)
    const ofAccount = Math.floor(streams / fleets.length) + (index % fleets.length < streams % fleets.length ? 1 : 0)
    Object.assign(round, { sent: performance.now(), missing: ofAccount * fleet.ids.length, done: resolve })
    await connection.send(labelRequest({ ...fleet, label: `streamed ${index}` }))
    await promise
    clearTimeout(timer)
  }
  const deliveriesPerSecond = latencies.length / ((performance.now() - start) / 1_000)
  for (const stream of [...opened, connection]) stream.close()
  latencies.sort((a, b) => a - b)
  return { streams, memoryMb, deliveriesPerSecond, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) }
}
