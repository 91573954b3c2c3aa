// What handshakes of WebSockets take, and how many sockets an address may have before they say whose they are.

import { DomainError } from '../../domain/errors.ts'
import { networkOf } from '../address-limits.ts'
import { parseBearer } from '../bearer.ts'
import type { Client } from '../client.ts'
import { printRefusal } from '../refusal.ts'
import { createCounts } from './counts.ts'
import { retryAfterHeaders } from './headers.ts'
import type { CreateMeter } from './meter.ts'
import { pagePoints } from './points.ts'

type HandshakeLimits = { meterOf: CreateMeter; unknownPerAddress: number }
type Admitted = { accept(): void }

export function createHandshakeLimits({ meterOf, unknownPerAddress }: HandshakeLimits) {
  const unknown = createCounts(unknownPerAddress)
  const tooMany = `Your address has ${unknownPerAddress} WebSockets open that have sent no valid key. Try again.`

  /** Counts the socket until `accept`. Returns the answer instead if it may not open. */
  return function admit(client: Client, authorization: string | undefined): Admitted | string {
    const network = networkOf(client.address)
    try {
      const meter = meterOf(client)
      const key = parseBearer(authorization)
      meter.take((key && meter.recallOwner(key)) || 'address', pagePoints)
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'RATE_LIMITED') throw error
      return printRefusal(429, 'rate_limited', error.message, retryAfterHeaders(error.details))
    }
    if (!unknown.add(network)) return printRefusal(429, 'rate_limited', tooMany, { 'retry-after': '1' })
    let isUnknown = true
    return {
      accept() {
        if (isUnknown) unknown.remove(network)
        isUnknown = false
      },
    }
  }
}
