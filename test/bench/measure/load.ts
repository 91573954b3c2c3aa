import { type Connection, type HttpRequest, openConnection } from './connection.ts'

export type Load = { connections: number; seconds: number }
/** What a run of requests measured. Latencies are in ms, sorted, of the requests that did not fail. */
export type LoadResult = { latencies: Float64Array; seconds: number; failures: Failures }
/** How many requests failed, and how the first one did. */
export type Failures = { count: number; first: string }
/** Throws unless the answer is the expected one. */
export type CheckAnswer = (body: string) => void

/**
 * Sends requests for some seconds, or until there are no more. Each connection sends its next request when the last one is
 * answered.
 */
export async function runLoad(
  url: URL,
  requests: Iterator<HttpRequest>,
  { connections, seconds }: Load,
  check: CheckAnswer,
): Promise<LoadResult> {
  const opened = await Promise.all(Array.from({ length: connections }, () => openConnection(url)))
  const latencies: number[] = []
  const failures = { count: 0, first: '' }
  const start = performance.now()
  await Promise.all(opened.map(sendInTurn))
  const end = performance.now()
  for (const connection of opened) connection.close()
  return { latencies: Float64Array.from(latencies).sort(), seconds: (end - start) / 1_000, failures }

  async function sendInTurn(connection: Connection): Promise<void> {
    while (performance.now() < start + seconds * 1_000) {
      const { value: request, done } = requests.next()
      if (done) return
      await sendOne(connection, request)
    }
  }

  /** A server under load may refuse a request. The run continues, as clients do. */
  async function sendOne(connection: Connection, request: HttpRequest): Promise<void> {
    try {
      const sent = performance.now()
      const body = await connection.send(request)
      const answered = performance.now()
      check(body)
      latencies.push(answered - sent)
    } catch (error) {
      failures.count += 1
      failures.first ||= String(error)
    }
  }
}
