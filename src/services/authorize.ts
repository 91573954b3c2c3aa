import {
  isAllowed,
  isAllowedForSome,
  type Operation,
  type OperationOnId,
  operationCategories,
  type operationParameters,
  type ParametersOf,
} from '../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../domain/actor.ts'
import { DomainError } from '../domain/errors.ts'

/** An operation that has parameters is asked with all of them. */
type ParameterArguments<Name extends Operation> = Name extends keyof typeof operationParameters
  ? [ParametersOf<Name>]
  : []

/** The first line of every service function. */
export function authorize<Name extends Operation>(
  actor: Actor,
  operation: Name,
  ...[values]: ParameterArguments<Name>
): void {
  if (isAllowed(actor.permissions, operation, values)) return
  const category = operationCategories[operation]
  if (!isAllowedForSome(actor.permissions, operation)) throw missingPermission(operation)
  const message = `This key may not do this: its permission ${category} has constraints for ${operation}, and this is outside.`
  throw new DomainError('FORBIDDEN', message, { missing: [category] })
}

/** For a face, before it reads what was sent: who may not ask at all need not be told what is wrong with it. */
export function authorizeOperation(actor: Actor, operation: Operation): void {
  if (!isAllowedForSome(actor.permissions, operation)) throw missingPermission(operation)
}

/** For what belongs to a thing that can be had in several ways: who may do any of them may see it. */
export function authorizeAny(actor: Actor, [first, ...others]: readonly [Operation, ...Operation[]]): void {
  if (![first, ...others].some(operation => isAllowedForSome(actor.permissions, operation)))
    throw missingPermission(first)
}

function missingPermission(operation: Operation): DomainError {
  const category = operationCategories[operation]
  const message = `This key may not do this: it lacks the permission ${category} for ${operation}.`
  return new DomainError('FORBIDDEN', message, { missing: [category] })
}

/** The same for a command to many things: a constraint on the id must hold for each. */
export function authorizeEach<Name extends OperationOnId>(
  actor: Actor,
  operation: Name,
  ids: readonly (bigint | number)[],
  others?: Omit<ParametersOf<Name>, 'id'>,
): void {
  const of = (id: bigint | number | undefined) =>
    authorize(
      actor,
      operation,
      ...([{ ...others, id: id === undefined ? id : Number(id) }] as ParameterArguments<Name>),
    )
  if (ids.length === 0) of(undefined)
  for (const id of ids) of(id)
}
