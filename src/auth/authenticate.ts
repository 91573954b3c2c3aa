import type { Actor } from '../domain/actor.ts'
import { DomainError } from '../domain/errors.ts'
import type { HowFresh } from '../services/accounts/api-keys/remembered-keys.ts'
import type { Services } from '../services/services.ts'

/**
 * Identifies the caller by the Authorization header. `queryKey` is a key in the URL, which only the REST face accepts, for
 * old clients.
 */
export async function authenticate(
  authorization: string | null | undefined,
  services: Services,
  { queryKey, ...how }: HowFresh & { queryKey?: string | null },
): Promise<Actor> {
  const key = parseBearerKey(authorization) ?? queryKey
  if (!key)
    throw new DomainError('UNAUTHENTICATED', 'An API key is required: send the header "Authorization: Bearer KEY".')
  const actor = await services.apiKeys.identify(key, how)
  // The same message for unknown, revoked and expired keys. Old clients look for these words.
  if (!actor) throw new DomainError('UNAUTHENTICATED', 'Invalid user key')
  return actor
}

/** Identifies the caller by the Authorization header; undefined when the key is missing or not valid. */
export async function identifyBearer(
  authorization: string | undefined,
  { apiKeys }: Services,
  how: HowFresh,
): Promise<Actor | undefined> {
  const key = parseBearerKey(authorization)
  return key === undefined ? undefined : ((await apiKeys.identify(key, how)) ?? undefined)
}

/** The account of a caller whose key this gateway has read before, by what the request sends. */
export function recallCaller(
  authorization: string | undefined,
  url: string,
  { apiKeys }: Services,
): number | undefined {
  const key = parseBearerKey(authorization) ?? new URLSearchParams(/api_key=[^&]*/.exec(url)?.[0]).get('api_key')
  return key ? apiKeys.recallAccount(key) : undefined
}

function parseBearerKey(authorization: string | null | undefined): string | undefined {
  const [, key] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? []
  return key
}
