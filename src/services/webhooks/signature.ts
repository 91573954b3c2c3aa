import { createHmac } from 'node:crypto'

/** Proves to a holder of one of the secrets that Berth sent this body at this time. */
export function signBody(secrets: readonly string[], at: Date, body: string): string {
  const seconds = Math.floor(at.getTime() / 1_000)
  const proofs = secrets.map(secret => createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex'))
  return [`t=${seconds}`, ...proofs.map(proof => `v1=${proof}`)].join(',')
}
