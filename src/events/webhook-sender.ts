// Sends one request to the endpoint of a webhook, which is not trusted: it may hang, answer endlessly or redirect.

import http from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { AttemptResult } from '../domain/webhooks/webhooks.ts'
import { isPublicAddress, literalAddress } from '../services/webhooks/address.ts'
import type { WebhookRequest } from '../services/webhooks/delivery.ts'
import { type HostAddress, type ResolveHost, resolveWithNameServers, resolveWithSystem } from './resolve-host.ts'

type WebhookSenderOptions = {
  /** Allows endpoints in Berth's own network, and endpoints without TLS. */
  privateWebhooks: boolean
  resolve?: ResolveHost | undefined
  timeoutMs?: number
}

/** Time limit from the host lookup to the response. Must be shorter than a lease. */
const defaultTimeoutMs = 10_000
/** Bytes of the response body to read, for servers that want to finish it. */
const maxAnswerBytes = 1_024

/** Undefined when `stopped` aborted the request. */
export type SendWebhook = (post: WebhookRequest, stopped: AbortSignal) => Promise<AttemptResult | undefined>

export function createWebhookSender({
  privateWebhooks,
  resolve,
  timeoutMs = defaultTimeoutMs,
}: WebhookSenderOptions): SendWebhook {
  const resolveHost = resolve ?? (privateWebhooks ? resolveWithSystem : resolveWithNameServers)

  return async (post, stopped) => {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = AbortSignal.any([timeout, stopped])
    try {
      const url = new URL(post.url)
      const addresses = await abortable(signal, addressesOf(url))
      const refusal = privateWebhooks ? undefined : addressProblem(url, addresses)
      return refusal ? { error: refusal } : { responseStatus: await sendRequest(url, post, addresses, signal) }
    } catch (error) {
      if (stopped.aborted) return undefined
      return {
        error: timeout.aborted
          ? `The endpoint did not answer within ${timeoutMs / 1_000} seconds.`
          : describeFailure(error),
      }
    }
  }

  /** Returns at least one address, or throws. */
  async function addressesOf(url: URL): Promise<HostAddress[]> {
    const literal = literalAddress(url)
    if (literal !== undefined) return [{ address: literal, family: isIP(literal) }]
    const addresses = await resolveHost(url.hostname)
    if (addresses.length === 0) throw Object.assign(new Error('No address.'), { code: 'ENOTFOUND' })
    return addresses
  }
}

/** Every address must be public, since the connection may use any of them. */
function addressProblem({ protocol }: URL, addresses: HostAddress[]): string | undefined {
  if (protocol !== 'https:') return 'Events are sent over https:// only.'
  if (addresses.every(({ address }) => isPublicAddress(address))) return undefined
  return 'Events are sent to public addresses only, and the host has an address that is not public.'
}

/** Resolves to the response status. Connects only to these addresses, and follows no redirect. */
function sendRequest(
  url: URL,
  { headers, body }: WebhookRequest,
  addresses: HostAddress[],
  signal: AbortSignal,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const [first] = addresses as [HostAddress]
  const lookup: LookupFunction = (_host, { all }, give) =>
    all ? give(null, addresses) : give(null, first.address, first.family)
  // No agent: a kept-alive connection would bypass the address check of this attempt.
  const options = { method: 'POST', agent: false, lookup, signal, rejectUnauthorized: true, headers }
  const request = (url.protocol === 'https:' ? https : http).request(url, options)
  let status: number | undefined
  // Once there is a status, later errors do not matter.
  request.on('error', error => status ?? reject(error))
  request.on('close', () => (status === undefined ? reject(new Error('There was no answer.')) : resolve(status)))
  request.on('response', response => {
    status = response.statusCode
    let bytes = 0
    response.on('error', () => {})
    response.on('data', (part: Buffer) => {
      bytes += part.length
      if (bytes > maxAnswerBytes) response.destroy()
    })
  })
  request.end(body)
  return promise
}

/** A host lookup cannot be canceled, so a late result is ignored. */
async function abortable<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  work.catch(() => {})
  return await Promise.race([work, promise])
}

/** Describes a failure without details of Berth's own network. */
function describeFailure(error: unknown): string {
  const { code, syscall }: { code?: unknown; syscall?: unknown } = typeof error === 'object' && error ? error : {}
  if (code === 'ENOTFOUND' || syscall === 'getaddrinfo') return 'The host was not found.'
  return code === undefined ? 'The connection was closed.' : `The connection failed: ${code}.`
}
