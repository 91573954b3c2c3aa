// What was arranged for an instance and happens by itself, each at an instant that is known before.

import type { Instance, Reason } from './instances.ts'

export type PolicyFacts = Pick<Instance, 'createdAt' | 'endsAt' | 'destroyedAt'> & {
  /** When its end was announced. */
  announcedAt: Date | null
}

/** What happens, and when: `announce` tells that its rental will end, `destroy` ends it. */
type Policy = { at: Date } & ({ deed: 'announce' } | { deed: 'destroy'; reason: Reason })

/** So long before it ends that is told; at once, when it is rented for less. */
export const announcedMs = 24 * 3_600_000

/**
 * What happens to an instance next, and when; null for nothing. Each deed changes a fact by which it would be next, so
 * none is done twice. What is past is announced no more.
 */
export function nextPolicy({ createdAt, endsAt, destroyedAt, announcedAt }: PolicyFacts, now: Date): Policy | null {
  if (destroyedAt) return null
  if (announcedAt || now >= endsAt) return { at: endsAt, deed: 'destroy', reason: rentalEnded }
  const announced = endsAt.getTime() - announcedMs
  return { at: announced < createdAt.getTime() ? createdAt : new Date(announced), deed: 'announce' }
}

const rentalEnded: Reason = {
  code: 'RENTAL_ENDED',
  message: 'Its machine left the market at the instant that was told when it was rented.',
}
