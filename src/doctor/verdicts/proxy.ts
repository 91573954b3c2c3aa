// What the proxies in front do with requests, as the gateway behind them saw it.

import type { Echo } from '../../http/admission/echo.ts'
import { type Check, fail, ok, warn } from '../check.ts'

/** An answer; `echo` is missing if it is not that of a gateway with this secret. */
export type Answer = { status: number; echo: Echo | undefined; certificateEndsAt: Date | null }

/** `problem`: why there was no answer at all. */
export function checkReached(url: URL, answer: Answer | { problem: string }): Check {
  const name = 'proxy'
  if ('problem' in answer)
    return fail(
      name,
      `${url.origin} cannot be reached: ${answer.problem}.`,
      'Start the proxy, or correct the address, its DNS record or its certificate. If a CA of your own signed it, set NODE_EXTRA_CA_CERTS to the file with that CA.',
    )
  if (answer.echo) return ok(name, `${url.origin} leads to a gateway with this secret.`)
  return fail(
    name,
    `${url.origin}/graphql answers ${answer.status}, and not as a gateway with this secret.`,
    'Let the proxy pass /graphql on to a gateway, and run "doctor" with the settings of that gateway.',
  )
}

export function checkOrigin(url: URL, { origin, isTrusted, forwarded, peer }: Echo): Check {
  const name = 'proxy origin'
  const seen = URL.canParse(origin) ? new URL(origin) : undefined
  if (seen?.origin === url.origin) return ok(name, `Links in answers begin with ${url.origin}, as clients need.`)
  const found = `Links in answers begin with ${origin}, and not with ${url.origin}.`
  if (!isTrusted && forwarded !== '') return fail(name, found, trustAdvice(peer))
  return seen?.host === url.host
    ? fail(name, found, `Let the proxy set X-Forwarded-Proto to the scheme of the client, and TRUSTED_PROXIES name it.`)
    : fail(name, found, 'Let the proxy pass on the Host header of the client.')
}

/** `forged` is the echo of a request with this X-Forwarded-For, such as a client may send to hide. */
export type ClientFacts = { url: URL; plain: Echo; forged: Echo; forgedAddress: string }

export function checkClient({ url, plain, forged, forgedAddress }: ClientFacts): Check {
  const name = 'proxy client'
  const { peer, address, isTrusted, forwarded } = plain
  const advice = 'Let the proxy append the address of the client to X-Forwarded-For, or replace the header by it.'
  if (!isTrusted) {
    // A gateway has no TLS of its own.
    const hasProxy = forwarded !== '' || url.protocol === 'https:'
    if (!hasProxy) return ok(name, `No proxy is seen in front: clients connect from ${address}.`)
    return fail(name, `The proxy ${peer} is not trusted, so all of its clients count as one.`, trustAdvice(peer))
  }
  if (address === peer && !forwarded.includes(peer))
    return fail(name, `The proxy ${peer} does not say who its clients are, so all count as one.`, advice)
  if (forged.forwarded.trim().endsWith(forgedAddress))
    return fail(name, `The proxy ${peer} lets clients choose the address that limits count.`, advice)
  return ok(name, `The proxy ${peer} is trusted, and names the client ${address}.`)
}

function trustAdvice(peer: string): string {
  return `Add ${peer}, or the range of your proxies, to TRUSTED_PROXIES of every gateway.`
}

/** `bytes`: the size of the body. */
export function checkBody(answer: Answer | { problem: string }, bytes: number): Check {
  const name = 'proxy body'
  if ('echo' in answer && answer.echo) return ok(name, `A body of ${bytes} bytes, the largest allowed, passes.`)
  const seen = 'problem' in answer ? `fails: ${answer.problem}` : `is answered ${answer.status} by the proxy`
  return fail(name, `A body of ${bytes} bytes ${seen}.`, 'Raise the limit of the proxy to 100 kB or more.')
}

export function checkMetrics(url: URL, answer: Answer | { problem: string }): Check[] {
  if ('problem' in answer || answer.status !== 200 || !answer.echo) return []
  return [
    warn(
      'proxy metrics',
      `Everybody who reaches ${url.origin} can read /metrics.`,
      'Set METRICS=false, or let the proxy refuse /metrics.',
    ),
  ]
}

/** `problem`: why no WebSocket opened, or why no message came back. */
export function checkSocket({ problem }: { problem: string | undefined }): Check {
  const name = 'proxy sockets'
  if (problem === undefined) return ok(name, 'WebSockets pass.')
  return fail(
    name,
    `WebSockets do not pass: ${problem}.`,
    'Let the proxy pass on upgrades: HTTP/1.1 with the headers Upgrade and Connection.',
  )
}

/** When the parts of a silent event stream arrived; null for one that did not. */
export type StreamFacts = { firstMs: number | null; secondMs: number | null; problem: string | undefined }

export function checkStream({ firstMs, secondMs, problem }: StreamFacts): Check {
  const name = 'proxy streams'
  if (firstMs === null)
    return fail(
      name,
      `An event stream does not begin: ${problem ?? 'the proxy holds it back'}.`,
      'Switch off buffering and compression of text/event-stream in the proxy.',
    )
  if (secondMs === null)
    return fail(
      name,
      `An event stream breaks off when it is silent: ${problem ?? 'its next part did not arrive'}.`,
      'Raise the read timeout of the proxy to 60 seconds or more.',
    )
  return ok(name, `An event stream begins after ${Math.round(firstMs)} ms, and stays open while it is silent.`)
}

const soonMs = 14 * 86_400_000

/** `endsAt`: until when the certificate is valid; null without TLS. */
export function checkCertificate(endsAt: Date | null, now: Date): Check[] {
  if (!endsAt) return []
  const day = endsAt.toISOString().slice(0, 10)
  const isSoon = endsAt.getTime() - now.getTime() < soonMs
  return isSoon
    ? [warn('certificate', `The certificate ends on ${day}.`, 'Renew it, and see why that is not automatic.')]
    : [ok('certificate', `The certificate is valid until ${day}.`)]
}
