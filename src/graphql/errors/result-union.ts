// The union that a mutation returns: its success type, or one of the refusals that it declares.

import { brandWithType } from '@pothos/core'
import { DomainError, renameIssuePaths } from '../../domain/errors.ts'
import { translateDatabaseError } from '../../services/database-errors.ts'
import { builder } from '../builder.ts'
import { isRefusalCode, type RefusalCode } from './codes.ts'
import type { RefusalValue } from './refusal.ts'
import { refusalTypes } from './refusal-types.ts'

/** The refusal as a value of its GraphQL type. Throws the error if its code has no type. */
export function toRefusalValue(error: DomainError): RefusalValue {
  if (!hasType(error)) throw error
  const value = { ...error, message: error.message }
  brandWithType(value, refusalTypes[error.code])
  return value
}

function hasType(error: DomainError): error is DomainError<RefusalCode> {
  return isRefusalCode(error.code)
}

type ObjectRef<Shape> = ReturnType<ReturnType<typeof builder.objectRef<Shape>>['implement']>

/** The union of a mutation's success type and its refusals, with a function that answers in it. */
export function resultUnion<Success extends object>(
  name: string,
  description: string,
  success: ObjectRef<Success>,
  codes: readonly RefusalCode[],
) {
  const union = builder.unionType(name, {
    description,
    types: [...new Set([success, ...codes.map(code => refusalTypes[code])])],
  })
  /**
   * Runs the mutation. Declared refusals become its answer; other errors are thrown. `names` renames the first part of
   * issue paths, from the domain's field to the input's.
   */
  async function answer(
    names: Record<string, string>,
    mutate: () => Promise<Success>,
  ): Promise<Success | RefusalValue> {
    try {
      const made = await mutate()
      brandWithType(made, success)
      return made
    } catch (error) {
      const known = renameIssuePaths(translateDatabaseError(error), names)
      if (known instanceof DomainError && codes.some(code => code === known.code)) return toRefusalValue(known)
      throw error
    }
  }
  return { union, answer }
}
