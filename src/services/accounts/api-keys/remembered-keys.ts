// The API keys that this gateway has read lately, so that a client's next read needs no statement to identify it. Requests
// that may change something do not rely on this: another gateway may have changed the key a moment ago.

import type { Disabled } from '../../../domain/accounts/disabled.ts'
import type { Permissions } from '../../../domain/accounts/permissions/permissions.ts'

/** A key that was valid when it was read, and for how long it can stay valid. */
export type KnownKey = {
  id: number
  accountId: number
  secretHash: Buffer
  permissions: Permissions | null
  /** Set if an operator has disabled its account. */
  disabled: Disabled | null
  /** Until it expires; null if it never does. */
  remainingMs: number | null
}

/** `fresh`: read now or, with `since`, not before that time of `performance.now()`. Otherwise up to a second ago. */
export type HowFresh = { fresh: boolean; since?: number }

export type RememberedKeys = {
  /** The key with this public id, as `read` finds it now or, if that is as fresh as asked for, as it was read lately. */
  find(publicId: string, read: () => Promise<KnownKey | undefined>, how?: HowFresh): Promise<KnownKey | undefined>
  /** The key with this public id, if it was read at any time and has not changed since. Enough to tell callers apart. */
  recall(publicId: string): KnownKey | undefined
  /** Forgets the key with this id. Each change of a key calls it, on every gateway. */
  forget(id: number): void
  /** Whether this gateway is told of changes by others. While it is not, it remembers nothing. */
  setListening(isListening: boolean): void
}

/** A gateway whose connection has died unnoticed is told of no change. So nothing is believed for longer. */
const maxAgeMs = 1_000
const maxKeys = 10_000

/** A map keeps the order in which its keys were set. */
function deleteOldest(keys: Map<string, unknown>): void {
  for (const oldest of keys.keys()) {
    keys.delete(oldest)
    return
  }
}

export function createRememberedKeys(nowMs: () => number = () => performance.now()): RememberedKeys {
  const keys = new Map<string, { key: KnownKey; readMs: number; endMs: number }>()
  let isListening = false
  /** Another number than before shows that a key changed while one was being read. */
  let changes = 0
  return {
    async find(publicId, read, { fresh, since = Number.POSITIVE_INFINITY } = { fresh: false }) {
      const known = keys.get(publicId)
      const startMs = nowMs()
      if (known && startMs < known.endMs && (!fresh || known.readMs >= since)) return known.key
      const before = changes
      const key = await read()
      keys.delete(publicId)
      if (!key || !isListening || changes !== before) return key
      if (keys.size >= maxKeys) deleteOldest(keys)
      keys.set(publicId, { key, readMs: startMs, endMs: startMs + Math.min(maxAgeMs, key.remainingMs ?? maxAgeMs) })
      return key
    },
    recall: publicId => keys.get(publicId)?.key,
    forget(id) {
      changes += 1
      for (const [publicId, { key }] of keys) if (key.id === id) keys.delete(publicId)
    },
    setListening(value) {
      isListening = value
      changes += 1
      keys.clear()
    },
  }
}
