import { hash } from 'node:crypto'
import type { Actor } from '../../domain/actor.ts'

/**
 * The keys and tokens that were valid when they were used last, and whose they are; null for those of hosts. They give access
 * to nothing: each is checked again. But a caller with one of them is no guesser, whoever else shares its address, and one
 * without points is refused before a statement. Only digests are kept.
 */
export function createKnownSecrets(maxSecrets = 20_000) {
  const known = new Map<string, Actor | null>()
  return {
    /** Undefined for a secret that is not known. */
    find: (secret: string) => known.get(digestOf(secret)),
    add(secret: string, owner: Actor | null): void {
      for (const oldest of known.keys()) {
        if (known.size >= maxSecrets) known.delete(oldest)
        break
      }
      known.set(digestOf(secret), owner)
    },
    delete(secret: string): void {
      known.delete(digestOf(secret))
    },
  }
}

export function digestOf(secret: string): string {
  return hash('sha256', secret, 'base64')
}
