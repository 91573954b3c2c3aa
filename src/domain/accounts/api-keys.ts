// An API key is berth_<public id>_<secret>. The public id finds the key and is not secret. Only a hash of the secret is
// stored. An instance's own key is berth_ins_<instance id>_<proof>. It is derived, so nothing is stored.

import { invalidInput } from '../errors.ts'
import type { Permissions } from './permissions/permissions.ts'

/** What the owner of an API key sets. Null permissions mean full access. */
export type ApiKeySettings = { name: string; permissions: Permissions | null; expiresAt: Date | null }

/** The permissions of a stored key. Every stored key has passed `parsePermissions`. */
export function permissionsOf({ permissions }: { permissions: unknown }): Permissions | null {
  return permissions as Permissions | null
}

/** Whether a key is the one that asks for its deletion, and whether the account has no other valid key with full access. */
type DeletedKey = { isOwn: boolean; isLastWithFullAccess: boolean }
/** The keys that a caller means to delete although it may lose its access. */
export type AllowedDeletions = { own: boolean; lastWithFullAccess: boolean }

/** Refuses a deletion that takes the caller's access away, or the account's, unless the caller means it. */
export function checkKeyDeletion({ isOwn, isLastWithFullAccess }: DeletedKey, allowed: AllowedDeletions): void {
  const message =
    isLastWithFullAccess && !allowed.lastWithFullAccess
      ? "must be true to delete the account's last API key with full access: afterwards only an operator can make another."
      : isOwn && !allowed.own
        ? 'must be true to delete the API key that sends this request: it is refused from then on.'
        : undefined
  if (message !== undefined) throw invalidInput([{ path: 'force', message }])
}

export const maxApiKeys = 200
export const maxApiKeyNameLength = 256

export const publicIdLength = 12
export const secretLength = 40

const apiKeyFormat = new RegExp(`^berth_([0-9A-Za-z]{${publicIdLength}})_([0-9A-Za-z]{${secretLength}})$`)

export function parseApiKey(key: string): { publicId: string; secret: string } | undefined {
  const [, publicId, secret] = apiKeyFormat.exec(key) ?? []
  return publicId && secret ? { publicId, secret } : undefined
}

export function printApiKey(publicId: string, secret: string): string {
  return `${printApiKeyPrefix(publicId)}_${secret}`
}

/** The part of a key that is not secret. */
export function printApiKeyPrefix(publicId: string): string {
  return `berth_${publicId}`
}

const instanceKeyFormat = /^berth_ins_([1-9][0-9]{0,17})_([0-9a-f]{64})$/

export function parseInstanceKey(key: string): { instanceId: bigint; proof: string } | undefined {
  const [, instanceId, proof] = instanceKeyFormat.exec(key) ?? []
  return instanceId && proof ? { instanceId: BigInt(instanceId), proof } : undefined
}

export function printInstanceKey(instanceId: bigint, proof: string): string {
  return `berth_ins_${instanceId}_${proof}`
}

/** An instance may start, stop and destroy itself, and nothing else. */
export function instancePermissions(instanceId: bigint): Permissions {
  const itself = { id: { eq: Number(instanceId) } }
  return {
    api: {
      instance_write: {
        'instances.update': { constraints: { ...itself, relabels: { eq: false } } },
        'instances.destroy': { constraints: itself },
      },
    },
  }
}
