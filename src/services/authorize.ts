import { forbidden } from '../domain/accounts/permissions/forbidden.ts'
import {
  constraintsOf,
  isAllowedForSome,
  type Operation,
  type OperationOnId,
  operationCategories,
  type operationParameters,
  type ParametersOf,
  unmetConstraints,
} from '../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../domain/actor.ts'
import type { DomainError } from '../domain/errors.ts'

/** A caller that authorizes an operation with parameters must give the values of all parameters. */
type ParameterArguments<Name extends Operation> = Name extends keyof typeof operationParameters
  ? [ParametersOf<Name>]
  : []

/** Every service function calls this first. */
export function authorize<Name extends Operation>(
  actor: Actor,
  operation: Name,
  ...values: ParameterArguments<Name>
): void {
  const [error] = permissionErrors(actor, operation, ...values)
  if (error) throw error
}

/** The error that `authorize` would throw, or none. */
export function permissionErrors<Name extends Operation>(
  actor: Actor,
  operation: Name,
  ...[values]: ParameterArguments<Name>
): DomainError[] {
  const constraints = constraintsOf(actor.permissions, operation)
  if (!constraints) return [missingPermission(operation)]
  const unmet = unmetConstraints(constraints, values ?? {})
  if (unmet.length === 0) return []
  return [forbidden('constrained request', [{ category: operationCategories[operation], operation, unmet }])]
}

/**
 * For a check before the input is parsed: a caller without the permission learns nothing about the input's problems.
 */
export function authorizeOperation(actor: Actor, operation: Operation): void {
  if (!isAllowedForSome(actor.permissions, operation)) throw missingPermission(operation)
}

/** For reads that several operations give access to: a permission for any of them suffices. */
export function authorizeAny(actor: Actor, [first, ...others]: readonly [Operation, ...Operation[]]): void {
  if (![first, ...others].some(operation => isAllowedForSome(actor.permissions, operation)))
    throw missingPermission(first)
}

function missingPermission(operation: Operation): DomainError {
  return forbidden('request', [{ category: operationCategories[operation], operation }])
}

/** Like `authorize`, for a command on many ids: a constraint on the id must hold for each. */
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
