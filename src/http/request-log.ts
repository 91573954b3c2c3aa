import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { jsonResponse } from './json.ts'
import type { Handler } from './router.ts'
import type { Fetch } from './server.ts'

type ObserveRequest = (path: string | undefined, status: number, ms: number) => void

/** Gives each request an id, which its answer and log lines carry, and logs the result. */
export function logRequests(log: Logger, handler: Handler, observe: ObserveRequest = () => {}): Fetch {
  return async request => {
    const start = performance.now()
    const sentId = request.headers.get('x-request-id') ?? ''
    const requestId = /^[\w.-]{1,64}$/.test(sentId) ? sentId : randomUUID()
    const requestLog = log.child({ requestId })
    let path: string | undefined
    const answer = async () => {
      // Without the query: old clients send their key in it.
      path = new URL(request.url).pathname
      return await handler(request, { requestId, path, log: requestLog })
    }
    const response = await answer().catch((error: unknown) => {
      requestLog.error({ err: error }, 'A request failed.')
      return jsonResponse(500, {
        success: false,
        error: 'internal_error',
        msg: `The gateway failed to process the request. Report the request id ${requestId} to its operator.`,
      })
    })
    response.headers.set('x-request-id', requestId)
    response.headers.set('x-content-type-options', 'nosniff')
    const ms = Math.round((performance.now() - start) * 10) / 10
    observe(path, response.status, ms)
    requestLog.info({ method: request.method, path, status: response.status, ms }, 'request')
    return response
  }
}
