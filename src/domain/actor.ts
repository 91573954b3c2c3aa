import type { Permissions } from './accounts/permissions/permissions.ts'

/**
 * Who asks: an account, through one of its keys. Null permissions are full access. The public id is that of the secret
 * that was sent: a key that is reset has another, and the key of an instance has none.
 */
export type Actor = { accountId: number; apiKeyId: number; publicId: string; permissions: Permissions | null }

export function isInstanceKey({ publicId }: Actor): boolean {
  return publicId === ''
}

/** Whoever asks without a key, where the operator lets everybody search. It belongs to no account. */
export const anonymousActor: Actor = {
  accountId: 0,
  apiKeyId: 0,
  publicId: 'anybody',
  permissions: { api: { misc: { 'offers.search': {}, 'volumes.search': {} } } },
}
