import {
  isAllowed,
  isGranted,
  type Operation,
  type OperationOnId,
  operations,
  type ParametersOf,
  type parameters,
} from '../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../domain/actor.ts'
import { DomainError } from '../domain/errors.ts'

/** An operation that has parameters is asked with all of them. */
type Asked<Name extends Operation> = Name extends keyof typeof parameters ? [ParametersOf<Name>] : []

/** The first line of every service function. */
export function authorise<Name extends Operation>(actor: Actor, operation: Name, ...[asked]: Asked<Name>): void {
  if (isAllowed(actor.permissions, operation, asked)) return
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
export function authoriseEach<Name extends OperationOnId>(
  actor: Actor,
  operation: Name,
  ids: readonly (bigint | number)[],
  others?: Omit<ParametersOf<Name>, 'id'>,
): void {
  const of = (id: bigint | number | undefined) =>
    authorise(actor, operation, ...([{ ...others, id: id === undefined ? id : Number(id) }] as Asked<Name>))
  if (ids.length === 0) of(undefined)
  for (const id of ids) of(id)
}
