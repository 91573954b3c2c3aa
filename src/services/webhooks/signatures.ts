// Signs deliveries as the specification Standard Webhooks says, and as Berth did before. One secret serves both.

import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'

export function generateSecret(): string {
  return `${prefix}${randomBytes(32).toString('base64')}`
}

/** The headers that prove to a holder of one of the secrets that Berth sent this event at this time. */
export function signatureHeaders(secrets: readonly string[], eventId: string, at: Date, body: string) {
  const seconds = Math.floor(at.getTime() / 1_000)
  const signed = `${eventId}.${seconds}.${body}`
  return {
    'webhook-id': eventId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map(secret => `v1,${hmacOf(keyOf(secret), signed).toString('base64')}`).join(' '),
    'berth-signature': oldSignature(secrets, seconds, body),
  }
}

/** The bytes that a secret encodes. Secrets of older versions are in the URL-safe alphabet, which Node reads as well. */
function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(prefix.length), 'base64')
}

/** For receivers from before `webhook-signature`. Its key is the text of the secret. */
function oldSignature(secrets: readonly string[], seconds: number, body: string): string {
  const proofs = secrets.map(secret => hmacOf(secret, `${seconds}.${body}`).toString('hex'))
  return [`t=${seconds}`, ...proofs.map(proof => `v1=${proof}`)].join(',')
}

function hmacOf(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
