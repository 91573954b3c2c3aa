import { type HttpRequest, openConnection } from './connection.ts'

export type Load = { connections: number; seconds: number }
/** What a run of requests measured. Latencies are in ms, sorted. */
export type LoadResult = { latencies: Float64Array; seconds: number }
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
  const start = performance.now()
  const end = start + seconds * 1_000
  try {
    await Promise.all(
      opened.map(async connection => {
        for (let sent = start; sent < end; ) {
          const { value: request, done } = requests.next()
          if (done) return
          const body = await connection.send(request)
          const answered = performance.now()
          latencies.push(answered - sent)
          check(body)
          sent = performance.now()
        }
      }),
    )
  } finally {
    for (const connection of opened) connection.close()
  }
  return { latencies: Float64Array.from(latencies).sort(), seconds: (performance.now() - start) / 1_000 }
}
