// Tells the operator's doctor how its requests arrive here, through whatever proxies are in front. Each answer of a request
// with a valid token has it in a header, so an answer without the header comes from a proxy.

import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, TrustedProxies } from '../client.ts'
import { eventStreamHeaders, sendEvents } from '../event-stream.ts'
import type { AdmitRequest } from './requests.ts'

/** How the gateway sees a request. */
export type Echo = {
  /** Who connected to the gateway, and whether TRUSTED_PROXIES names it. */
  peer: string
  isTrusted: boolean
  /** The client that limits count and the log shows. */
  address: string
  /** How links in answers begin. */
  origin: string
  /** The header X-Forwarded-For, as it arrived. */
  forwarded: string
}

export const echoHeader = 'berth-echo'
/** Longer than the interval of comments, so that a client sees one arrive. */
const streamMs = 20_000

type EchoOptions = { proxies: Pick<TrustedProxies, 'has'>; isToken(token: string): boolean }

export function echoRequests(admit: AdmitRequest, { proxies, isToken }: EchoOptions): AdmitRequest {
  return async (request, response, client) => {
    const token = request.headers[echoHeader]
    if (typeof token !== 'string' || !isToken(token)) return await admit(request, response, client)
    response.setHeader(echoHeader, JSON.stringify(echoOf(request, client, proxies)))
    if (request.headers.accept !== 'text/event-stream') return await admit(request, response, client)
    response.writeHead(200, eventStreamHeaders)
    sendEvents(response, { items: stayingSilent(), print: String, completion: '', onFailure: () => {} })
    return undefined
  }
}

function echoOf({ headers, socket }: IncomingMessage, client: Client, proxies: EchoOptions['proxies']): Echo {
  const peer = socket.remoteAddress ?? ''
  return {
    peer: peer.replace(/^::ffff:/i, ''),
    isTrusted: proxies.has(peer),
    address: client.address,
    origin: `${client.protocol ?? 'http'}://${client.host ?? headers.host}`,
    forwarded: [headers['x-forwarded-for'] ?? []].flat().join(', '),
  }
}

/** A stream without events. */
function stayingSilent(): AsyncIterator<never, undefined> {
  const left = new AbortController()
  const done = { done: true, value: undefined } as const
  const wait = { signal: left.signal, ref: false }
  return {
    next: () => sleep(streamMs, done, wait).catch(() => done),
    async return() {
      left.abort()
      return done
    },
  }
}
