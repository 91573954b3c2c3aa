// Admits requests as early as possible: a refused one costs neither its body nor an object of the fetch API.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { inSpan } from '../../traces/spans.ts'
import { noPlace, type Owner, type Place } from '../../turns/owners.ts'
import type { Client } from '../client.ts'
import { type BeginRequest, disconnectedStatus, type LoggedRequest } from '../router.ts'
import type { Admission } from './admission.ts'
import { waitForArrival } from './arrival.ts'

/** A request that may run until it leaves. */
export type AdmittedRequest = {
  /** The log of the request, if that has begun. */
  begun: LoggedRequest | undefined
  place: Place
  /** Undefined for a request that is always admitted. */
  owner?: Owner | undefined
}
/** Undefined if the request has been refused, and answered. */
export type AdmitRequest = (
  request: IncomingMessage,
  response: ServerResponse,
  client: Client,
) => Promise<AdmittedRequest | undefined>

type AdmitOptions = {
  admission: Admission
  begin: BeginRequest
  ownerOf(request: IncomingMessage, client: Client): Owner
  /** The bodies of refusals, in the shape of each face. */
  refusals: { graphql: string; rest: string }
}

/** What operators and balancers ask must be answered under every load. */
const alwaysAdmitted = new Set(['/health', '/ready', '/metrics'])

export function createAdmitRequest({ admission, begin, ownerOf, refusals }: AdmitOptions): AdmitRequest {
  return async (request, response, client) => {
    const { method = '', url = '', headers } = request
    const [path = ''] = url.split('?', 1)
    if (alwaysAdmitted.has(path)) return { begun: undefined, place: noPlace }
    const begun = begin(method, String(headers['x-request-id'] ?? ''), client)
    await waitForArrival(request)
    const owner = ownerOf(request, client)
    const entered = admission.enter(owner)
    const place = entered instanceof Promise ? await inSpan('wait for admission', {}, () => entered) : entered
    if (place && !response.destroyed) return { begun, place, owner }
    place?.leave()
    if (!response.destroyed)
      sendRefusal(response, path.startsWith('/graphql') ? refusals.graphql : refusals.rest, begun.headers)
    begun.end(path, response.destroyed ? disconnectedStatus : 503)
    return undefined
  }
}

function sendRefusal(response: ServerResponse, body: string, headers: LoggedRequest['headers']): void {
  response.writeHead(503, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'retry-after': '1',
    ...headers,
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}
