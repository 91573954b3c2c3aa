import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { jsonResponse } from './json.ts'
import type { PlainFetch, PlainHandler } from './plain.ts'
import type { Handler } from './router.ts'
import type { Fetch } from './server.ts'

type ObserveRequest = (path: string | undefined, status: number, ms: number) => void
/** A request that has begun. */
type LoggedRequest = {
  requestId: string
  log: Logger
  /** Headers that every answer has. */
  headers: Record<string, string>
  /** The body of the answer to a request that failed unexpectedly. */
  describeFailure(error: unknown): object
  end(path: string | undefined, status: number): void
}
type BeginRequest = (method: string, sentId: string | null | undefined) => LoggedRequest

/** Gives each request an id, which its answer and log lines carry, and logs the result. */
export function createRequestLog(log: Logger, observe: ObserveRequest = () => {}): BeginRequest {
  return (method, sentId) => {
    const start = performance.now()
    const requestId = sentId && /^[\w.-]{1,64}$/.test(sentId) ? sentId : randomUUID()
    const requestLog = log.child({ requestId })
    return {
      requestId,
      log: requestLog,
      headers: { 'x-request-id': requestId, 'x-content-type-options': 'nosniff' },
      describeFailure(error) {
        requestLog.error({ err: error }, 'A request failed.')
        return {
          success: false,
          error: 'internal_error',
          msg: `The gateway failed to process the request. Report the request id ${requestId} to its operator.`,
        }
      },
      end(path, status) {
        const ms = Math.round((performance.now() - start) * 10) / 10
        observe(path, status, ms)
        requestLog.info({ method, path, status, ms }, 'request')
      },
    }
  }
}

export function logRequests(begin: BeginRequest, handler: Handler): Fetch {
  return async request => {
    const { requestId, log, headers, describeFailure, end } = begin(request.method, request.headers.get('x-request-id'))
    let path: string | undefined
    const answer = async () => {
      // Without the query: old clients send their key in it.
      path = new URL(request.url).pathname
      return await handler(request, { requestId, path, log })
    }
    const response = await answer().catch((error: unknown) => jsonResponse(500, describeFailure(error)))
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
    end(path, response.status)
    return response
  }
}

export function logPlainRequests(begin: BeginRequest, handler: PlainHandler): PlainFetch {
  return async (path, request) => {
    const { requestId, log, headers, describeFailure, end } = begin(
      'POST',
      String(request.headers['x-request-id'] ?? ''),
    )
    const failure = (error: unknown) => ({
      status: 500,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
      body: JSON.stringify(describeFailure(error)),
    })
    const answer = await handler(request, { requestId, path, log }).catch(failure)
    if (!answer) return undefined
    end(path, answer.status)
    return { ...answer, headers: { ...answer.headers, ...headers } }
  }
}
