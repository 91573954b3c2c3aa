import type { Actor } from '../domain/actor.ts'
import { DomainError } from '../domain/errors.ts'
import type { Services } from '../services/services.ts'

/** Who sends this request. `queryKey` is the key in the URL, which only REST clients of old are granted. */
export async function authenticate(request: Request, services: Services, queryKey?: string | null): Promise<Actor> {
  const key = parseBearerKey(request.headers.get('authorization')) ?? queryKey
  if (!key)
    throw new DomainError('UNAUTHENTICATED', 'This needs an API key: send the header "Authorization: Bearer KEY".')
  const actor = await services.apiKeys.identify(key)
  // The same for an unknown, a revoked and an expired key, and in the words that old clients look for.
  if (!actor) throw new DomainError('UNAUTHENTICATED', 'Invalid user key')
  return actor
}

/** Who sends this header; undefined for nobody that may come in. */
export async function identifyBearer(
  authorization: string | undefined,
  { apiKeys }: Services,
): Promise<Actor | undefined> {
  const key = parseBearerKey(authorization)
  return key === undefined ? undefined : ((await apiKeys.identify(key)) ?? undefined)
}

function parseBearerKey(authorization: string | null | undefined): string | undefined {
  const [, key] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? []
  return key
}
