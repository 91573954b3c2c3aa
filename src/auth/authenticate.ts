import { invalidKey } from '../domain/accounts/invalid-key.ts'
import type { Actor } from '../domain/actor.ts'
import { DomainError } from '../domain/errors.ts'
import { parseBearer } from '../http/bearer.ts'
import type { Meter } from '../http/limits/meter.ts'
import { pagePoints, queryPoints } from '../http/limits/points.ts'
import type { HowFresh } from '../services/accounts/api-keys/remembered-keys.ts'
import type { Services } from '../services/services.ts'

/**
 * Identifies the caller by the Authorization header. `queryKey` is a key in the URL, which only the REST face accepts, for
 * old clients.
 */
export async function authenticate(
  authorization: string | null | undefined,
  { apiKeys }: Services,
  { queryKey, meter, ...how }: HowFresh & { queryKey?: string | null; meter: Meter },
): Promise<Actor> {
  const key = parseBearer(authorization) ?? queryKey
  if (!key) {
    meter.take('address', pagePoints)
    throw new DomainError('UNAUTHENTICATED', 'An API key is required: send the header "Authorization: Bearer KEY".')
  }
  const actor = await identify(key, apiKeys, { meter, ...how })
  if (!actor) throw invalidKey()
  meter.takeRequest(actor)
  return actor
}

/** Identifies the caller by the Authorization header; undefined when the key is missing or not valid. */
export async function identifyBearer(
  authorization: string | undefined,
  { apiKeys }: Services,
  { meter, ...how }: HowFresh & { meter: Meter },
): Promise<Actor | undefined> {
  const key = parseBearer(authorization)
  return key === undefined ? undefined : await identify(key, apiKeys, { meter, ...how })
}

async function identify(
  key: string,
  apiKeys: Services['apiKeys'],
  { meter, ...how }: HowFresh & { meter: Meter },
): Promise<Actor | undefined> {
  try {
    return await meter.check(key, () => apiKeys.identify(key, how), itself)
  } catch (error) {
    // A disabled account does not pay, so the address does.
    if (error instanceof DomainError && error.code === 'ACCOUNT_DISABLED') meter.take('address', queryPoints)
    throw error
  }
}

function itself(actor: Actor): Actor {
  return actor
}

/** The account of a caller whose key this gateway has read before, by what the request sends. */
export function recallCaller(
  authorization: string | undefined,
  url: string,
  { apiKeys }: Services,
): number | undefined {
  const [, query] = /\?(.*)/s.exec(url) ?? []
  // Read as the face reads it: a caller whom this took for another one would have two shares.
  const key = parseBearer(authorization) ?? new URLSearchParams(query).get('api_key')
  return key ? apiKeys.recallAccount(key) : undefined
}
