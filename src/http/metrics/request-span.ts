// The span of a request, until its answer has been given or its stream has begun. It tells no query, which may have a key, and no
// address. The lines that the request logs have the id of its trace.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { remoteParent } from '../../traces/remote.ts'
import { describeSpan, failSpan, inTrace, nameSpan } from '../../traces/spans.ts'
import { isTracing } from '../../traces/tracer.ts'
import type { Client } from '../client.ts'
import { probePoints } from '../limits/points.ts'

export function inRequestSpan(
  request: IncomingMessage,
  response: ServerResponse,
  client: Client,
  answer: () => Promise<void>,
): Promise<void> {
  const { method = '', url = '', headers } = request
  const [path = ''] = url.split('?', 1)
  // Balancers and operators ask for these again and again.
  if (!isTracing() || Object.hasOwn(probePoints, path)) return answer()
  const attributes = {
    'http.request.method': methods.has(method) ? method : '_OTHER',
    'url.scheme': client.protocol ?? 'http',
    'url.path': path,
  }
  return inTrace(nameOf(method), { kind: 'SERVER', parent: remoteParent(headers), attributes }, async () => {
    if (/^\/graphql\/?$/.test(path)) nameRequest(method, '/graphql')
    await answer()
    describeAnswer(response)
  })
}

/** `route`: the path, with names in place of values. */
export function nameRequest(method: string, route: string): void {
  nameSpan(`${nameOf(method)} ${route}`, { 'http.route': route })
}

/** Those that the conventions of OpenTelemetry name. */
const methods = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE'])

function nameOf(method: string): string {
  return methods.has(method) ? method : 'HTTP'
}

function describeAnswer({ headersSent, statusCode }: ServerResponse): void {
  // The client left before.
  if (!headersSent) return
  describeSpan({ 'http.response.status_code': statusCode })
  if (statusCode >= 500) failSpan(String(statusCode))
}
