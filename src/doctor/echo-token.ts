// The token with which a gateway echoes how a request arrived: see src/http/admission/echo.ts. Only who has the secret of the gateways
// can make one, and it opens nothing else.

import { timingSafeEqual } from 'node:crypto'
import type { Secrets } from '../services/secrets.ts'

const lifetimeMs = 10 * 60_000

export function createEchoToken(secrets: Pick<Secrets, 'digest'>, now: Date): string {
  const until = String(now.getTime() + lifetimeMs)
  return `${until}.${secrets.digest('echo', until).toString('base64url')}`
}

export function isEchoToken(secrets: Pick<Secrets, 'digest'>, token: string, now: Date): boolean {
  const [until = '', mark = ''] = token.split('.')
  const leftMs = Number(until) - now.getTime()
  // The maker's clock may be ahead.
  if (!(leftMs > 0 && leftMs <= 2 * lifetimeMs)) return false
  const [expected, given] = [secrets.digest('echo', until), Buffer.from(mark, 'base64url')]
  return expected.length === given.length && timingSafeEqual(expected, given)
}
