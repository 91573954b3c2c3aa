import type { Actor } from '../domain/actor.ts'
import { DomainError } from '../domain/errors.ts'
import { isAllowed, isGranted, type Operation, operations } from '../domain/permissions.ts'

/** The first line of every service function. */
export function authorise(actor: Actor, operation: Operation, parameters: Record<string, unknown> = {}): void {
  if (isAllowed(actor.permissions, operation, parameters)) return
  const category = operations[operation]
  if (!isGranted(actor.permissions, operation)) throw lacking(operation)
  const message = `This key may not do this: its permission ${category} has constraints for ${operation}, and this is outside.`
  throw new DomainError('FORBIDDEN', message, { missing: [category] })
}

/** For a face, before it reads what was sent: who may not ask at all need not be told what is wrong with it. */
export function authoriseAtAll(actor: Actor, operation: Operation): void {
  if (!isGranted(actor.permissions, operation)) throw lacking(operation)
}

/** For what belongs to a thing that can be had in several ways: who may do any of them may see it. */
export function authoriseAny(actor: Actor, [first, ...others]: readonly [Operation, ...Operation[]]): void {
  if (![first, ...others].some(operation => isGranted(actor.permissions, operation))) throw lacking(first)
}

function lacking(operation: Operation): DomainError {
  const category = operations[operation]
  const message = `This key may not do this: it lacks the permission ${category} for ${operation}.`
  return new DomainError('FORBIDDEN', message, { missing: [category] })
}

/** The same for a command to many things: a constraint on the id must hold for each. */
export function authoriseEach(actor: Actor, operation: Operation, ids: readonly bigint[]): void {
  if (ids.length === 0) authorise(actor, operation)
  for (const id of ids) authorise(actor, operation, { id: Number(id) })
}
