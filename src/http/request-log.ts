import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { currentTraceId } from '../traces/spans.ts'
import type { Client } from './client.ts'
import { jsonResponse } from './json.ts'
import { type CreateMeter, unlimitedMeters } from './limits/meter.ts'
import { probePoints } from './limits/points.ts'
import type { PlainAnswer, PlainFetch, PlainHandler } from './plain.ts'
import { type BeginRequest, disconnectedStatus, type Handler } from './router.ts'
import type { Fetch } from './server.ts'

type ObserveRequest = (path: string | undefined, status: number, ms: number) => void

/** Gives each request an id, which its answer and log lines carry, and logs the result. */
export function createRequestLog(
  log: Logger,
  observe: ObserveRequest = () => {},
  meterOf: CreateMeter = unlimitedMeters,
): BeginRequest {
  return (method, sentId, client) => {
    const start = performance.now()
    const requestId = sentId && /^[\w.-]{1,64}$/.test(sentId) ? sentId : randomUUID()
    const requestLog = log.child({ requestId, traceId: currentTraceId() })
    return {
      requestId,
      log: requestLog,
      client,
      meter: meterOf(client),
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
        const level = isHealthyProbe(path, status) ? 'debug' : 'info'
        requestLog[level]({ method, path, address: client.address, status, ms }, 'request')
      },
    }
  }
}

/** What watches a gateway asks each second. Its answers matter when they are bad. */
function isHealthyProbe(path: string | undefined, status: number): boolean {
  return path !== undefined && Object.hasOwn(probePoints, path) && status < 400
}

/** A request that no server received, but this process made. */
const thisProcess: Client = { address: '127.0.0.1' }

export function logRequests(begin: BeginRequest, handler: Handler): Fetch {
  return async (request, arrival = {}) => {
    const sentId = request.headers.get('x-request-id')
    const begun = arrival.begun ?? begin(request.method, sentId, arrival.client ?? thisProcess)
    const { requestId, log, client, meter, headers, describeFailure, end } = begun
    let path: string | undefined
    const answer = async () => {
      // Without the query: old clients send their key in it.
      path = new URL(request.url).pathname
      return await handler(request, { requestId, path, log, client, meter })
    }
    const failure = (error: unknown) =>
      request.signal.aborted
        ? new Response(null, { status: disconnectedStatus })
        : jsonResponse(500, describeFailure(error))
    const response = await answer().catch(failure)
    for (const [name, value] of Object.entries({ ...headers, ...meter.headers() })) response.headers.set(name, value)
    end(path, request.signal.aborted ? disconnectedStatus : response.status)
    return response
  }
}

export function logPlainRequests(begin: BeginRequest, handler: PlainHandler): PlainFetch {
  return async (path, request, given) => {
    const begun = given ?? begin(request.method, String(request.headers['x-request-id'] ?? ''), request.client)
    const { requestId, log, client, meter, headers, describeFailure, end } = begun
    const failure = (error: unknown): PlainAnswer =>
      request.isDisconnected()
        ? { status: disconnectedStatus, headers: {}, body: '' }
        : {
            status: 500,
            headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
            body: JSON.stringify(describeFailure(error)),
          }
    const answer = await handler(request, { requestId, path, log, client, meter }).catch(failure)
    if (!answer) return { begun }
    end(path, request.isDisconnected() ? disconnectedStatus : answer.status)
    return { answer: { ...answer, headers: { ...answer.headers, ...headers, ...meter.headers() } } }
  }
}
