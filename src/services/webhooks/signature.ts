import { createHmac } from 'node:crypto'

/** Says that Berth sent this text at this time, to whoever has one of the secrets. */
export function signBody(secrets: readonly string[], at: Date, body: string): string {
  const seconds = Math.floor(at.getTime() / 1_000)
  const proofs = secrets.map(secret => createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex'))
  return [`t=${seconds}`, ...proofs.map(proof => `v1=${proof}`)].join(',')
}
