// Tries what is in front of the gateways.

import { maxBodyBytes } from '../http/body.ts'
import { isLoopback } from '../http/listen.ts'
import type { Check } from './check.ts'
import { ask, gatherSocket, gatherStream, type Way } from './facts/proxy.ts'
import {
  checkBody,
  checkCertificate,
  checkClient,
  checkMetrics,
  checkOrigin,
  checkReached,
  checkSocket,
  checkStream,
} from './verdicts/proxy.ts'

/** An address for documentation, which no client has. */
const forgedAddress = '192.0.2.66'

export async function* examineProxy(way: Way): AsyncGenerator<Check> {
  const { url } = way
  const plain = await ask(way, { path: '/graphql' })
  yield checkReached(url, plain)
  if (!('echo' in plain) || !plain.echo) return
  yield* checkCertificate(plain.certificateEndsAt, new Date())
  yield checkOrigin(url, plain.echo)
  const forged = await ask(way, { path: '/graphql', headers: { 'x-forwarded-for': forgedAddress } })
  if ('echo' in forged && forged.echo) yield checkClient({ url, plain: plain.echo, forged: forged.echo, forgedAddress })
  yield checkBody(await sendLarge(way), maxBodyBytes)
  // On loopback, metrics are open on purpose.
  if (!isLoopback(url.hostname)) yield* checkMetrics(url, await ask(way, { path: '/metrics' }))
  yield checkSocket(await gatherSocket(way))
  yield checkStream(await gatherStream(way))
}

function sendLarge(way: Way) {
  const body = JSON.stringify({ query: '{ __typename }', variables: { padding: '' } })
  const padded = body.replace('""', `"${'x'.repeat(maxBodyBytes - body.length)}"`)
  const headers = { 'content-type': 'application/json', 'content-length': String(padded.length) }
  return ask(way, { path: '/graphql', method: 'POST', headers, body: padded })
}
