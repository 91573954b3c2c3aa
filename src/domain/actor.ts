import type { Permissions } from './accounts/permissions/permissions.ts'

/**
 * The caller: an account, with one of its API keys. Null permissions mean full access. The public id belongs to the
 * secret that the caller sent: a reset gives the key another public id, and an instance key has none.
 */
export type Actor = { accountId: number; apiKeyId: number; publicId: string; permissions: Permissions | null }

export function isInstanceKey({ publicId }: Actor): boolean {
  return publicId === ''
}

/** A caller without a key, where the operator allows public searches. Belongs to no account. */
export const anonymousActor: Actor = {
  accountId: 0,
  apiKeyId: 0,
  publicId: 'anybody',
  permissions: { api: { misc: { 'offers.search': {}, 'volumes.search': {} } } },
}
