// Sends one request to the endpoint of a webhook, which may do anything: hang, answer without an end, lead elsewhere.

import http from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { AttemptResult } from '../domain/webhooks/webhooks.ts'
import { isPublicAddress, literalAddress } from '../services/webhooks/address.ts'
import type { WebhookRequest } from '../services/webhooks/delivery.ts'
import { type Address, type ResolveHost, resolveWithNameServers, resolveWithSystem } from './resolve-host.ts'

export type WebhookSenderOptions = {
  /** Events may be sent into the network that Berth stands in, and without TLS. */
  privateWebhooks: boolean
  resolve?: ResolveHost | undefined
  timeoutMs?: number
}

/** From looking up the host to the answer. Shorter than a lease. */
const defaultTimeoutMs = 10_000
/** So much of an answer is read, for servers that want to finish it. */
const maxAnswerBytes = 1_024

/** Undefined where it was stopped before its end. */
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
        error: timeout.aborted ? `There was no answer within ${timeoutMs / 1_000} seconds.` : describeFailure(error),
      }
    }
  }

  /** At least one. */
  async function addressesOf(url: URL): Promise<Address[]> {
    const literal = literalAddress(url)
    if (literal !== undefined) return [{ address: literal, family: isIP(literal) }]
    const addresses = await resolveHost(url.hostname)
    if (addresses.length === 0) throw Object.assign(new Error('No address.'), { code: 'ENOTFOUND' })
    return addresses
  }
}

/** All addresses count: nobody knows which of them is connected to. */
function addressProblem({ protocol }: URL, addresses: Address[]): string | undefined {
  if (protocol !== 'https:') return 'Events are sent by https:// alone.'
  if (addresses.every(({ address }) => isPublicAddress(address))) return undefined
  return 'The host cannot be reached from anywhere: it has an address that is not public.'
}

/** The status of the answer. Connects to one of these addresses and to no other, and follows no redirect. */
function sendRequest(
  url: URL,
  { headers, body }: WebhookRequest,
  addresses: Address[],
  signal: AbortSignal,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const [first] = addresses as [Address]
  const lookup: LookupFunction = (_host, { all }, give) =>
    all ? give(null, addresses) : give(null, first.address, first.family)
  // No agent: a connection that is kept would be one whose address nobody checked this time.
  const options = { method: 'POST', agent: false, lookup, signal, rejectUnauthorized: true, headers }
  const request = (url.protocol === 'https:' ? https : http).request(url, options)
  let status: number | undefined
  // What happens after there is a status changes nothing about it.
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

/** A lookup cannot be called off. What it finds later is of no interest. */
async function abortable<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  work.catch(() => {})
  return await Promise.race([work, promise])
}

/** In words that tell nothing of the network that Berth stands in. */
function describeFailure(error: unknown): string {
  const { code, syscall }: { code?: unknown; syscall?: unknown } = typeof error === 'object' && error ? error : {}
  if (code === 'ENOTFOUND' || syscall === 'getaddrinfo') return 'The host was not found.'
  return code === undefined ? 'The connection was closed.' : `The connection failed: ${code}.`
}
