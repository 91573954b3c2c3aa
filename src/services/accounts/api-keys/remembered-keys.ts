// The API keys that this gateway has read lately, so that a client's next read needs no statement to identify it. Requests
// that may change something do not rely on this: another gateway may have changed the key a moment ago.

import type { Permissions } from '../../../domain/accounts/permissions/permissions.ts'

/** A key that was valid when it was read, and for how long it can stay valid. */
export type KnownKey = {
  id: number
  accountId: number
  secretHash: Buffer
  permissions: Permissions | null
  /** Until it expires; null if it never does. */
  remainingMs: number | null
}

export type RememberedKeys = {
  /** The key with this public id, as `read` finds it now or, unless `fresh`, as it was read less than a second ago. */
  find(
    publicId: string,
    read: () => Promise<KnownKey | undefined>,
    options?: { fresh?: boolean },
  ): Promise<KnownKey | undefined>
  /** Forgets all keys. Each change of a key calls it, on every gateway: keys rarely change. */
  forget(): void
  /** Whether this gateway is told of changes by others. While it is not, it remembers nothing. */
  setListening(isListening: boolean): void
}

/** A gateway whose connection has died unnoticed is told of no change. So nothing is believed for longer. */
const maxAgeMs = 1_000
const maxKeys = 10_000

export function createRememberedKeys(nowMs: () => number = () => performance.now()): RememberedKeys {
  let keys = new Map<string, { key: KnownKey; endMs: number }>()
  let isListening = false
  /** Another map than before shows that a key changed while it was being read. */
  const forget = () => {
    keys = new Map()
  }
  return {
    async find(publicId, read, { fresh = false } = {}) {
      const known = keys.get(publicId)
      const startMs = nowMs()
      if (!fresh && known && startMs < known.endMs) return known.key
      const before = keys
      const key = await read()
      keys.delete(publicId)
      if (!key || !isListening || keys !== before) return key
      if (keys.size >= maxKeys) keys.clear()
      keys.set(publicId, { key, endMs: startMs + Math.min(maxAgeMs, key.remainingMs ?? maxAgeMs) })
      return key
    },
    forget,
    setListening(value) {
      isListening = value
      forget()
    },
  }
}
