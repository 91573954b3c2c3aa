import { type GrowthSearch, pageRequest } from '../workloads/growth.ts'
import type { Connection } from './connection.ts'

/** A search is sent this often before it is measured, so that its statement has a name if it can have one. */
const warmUps = 5
const minRequests = 5

export type SearchRun = { round: number; seconds: number; maxRequests: number }

/** The latencies of one request at a time in ms, sorted. */
export async function measureSearch(
  connection: Connection,
  search: GrowthSearch,
  { round, seconds, maxRequests }: SearchRun,
): Promise<number[]> {
  const cursor = await findCursor(connection, search.offersBefore)
  if (round === 0)
    for (let index = 0; index < warmUps; index += 1) await send(connection, search.request(-1, index, cursor))
  const latencies: number[] = []
  const start = performance.now()
  while (
    latencies.length < minRequests ||
    (latencies.length < maxRequests && performance.now() < start + seconds * 1_000)
  ) {
    const request = search.request(round, latencies.length, cursor)
    const sent = performance.now()
    await send(connection, request)
    latencies.push(performance.now() - sent)
  }
  return latencies.sort((a, b) => a - b)
}

async function send(connection: Connection, request: Parameters<Connection['send']>[0]): Promise<string> {
  const answer = await connection.send(request)
  if (answer.includes('"errors"')) throw new Error(answer.slice(0, 2_000))
  return answer
}

/** The cursor after this number of offers. */
async function findCursor(connection: Connection, offersBefore: number): Promise<string | undefined> {
  let cursor: string | undefined
  for (let passed = 0; passed < offersBefore; passed += 100) {
    const size = Math.min(100, offersBefore - passed)
    const answer = await send(connection, pageRequest(size, cursor))
    const [, found] = /"endCursor":"([^"]+)"/.exec(answer) ?? []
    if (found) cursor = found
  }
  return cursor
}
