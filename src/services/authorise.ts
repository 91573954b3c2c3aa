import type { Actor } from '../domain/actor.ts'
import { DomainError } from '../domain/errors.ts'
import { isAllowed, type Operation, operations } from '../domain/permissions.ts'

/** The first line of every service function. */
export function authorise(actor: Actor, operation: Operation, parameters: Record<string, unknown> = {}): void {
  if (isAllowed(actor.permissions, operation, parameters)) return
  const category = operations[operation]
  const message = `This key may not do this: it lacks the permission ${category} for ${operation}.`
  throw new DomainError('FORBIDDEN', message, { missing: [category] })
}

/** The same for a command to many things: a constraint on the id must hold for each. */
export function authoriseEach(actor: Actor, operation: Operation, ids: readonly bigint[]): void {
  if (ids.length === 0) authorise(actor, operation)
  for (const id of ids) authorise(actor, operation, { id: Number(id) })
}
