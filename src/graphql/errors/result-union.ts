// A mutation returns a union of what it makes and the refusals that it can meet.

import { brandWithType } from '@pothos/core'
import { DomainError, renameIssues } from '../../domain/errors.ts'
import { explainFailure } from '../../services/failures.ts'
import { builder } from '../builder.ts'
import { isRefusalCode, type RefusalCode } from './codes.ts'
import type { Refused } from './error-types.ts'
import { errorTypes } from './typed-errors.ts'

/** An error as a value of its type. Throws the error when its code has no type. */
export function refused(error: DomainError): Refused {
  if (!hasType(error)) throw error
  const value = { ...error, message: error.message }
  brandWithType(value, errorTypes[error.code])
  return value
}

function hasType(error: DomainError): error is DomainError<RefusalCode> {
  return isRefusalCode(error.code)
}

type Ref<Shape> = ReturnType<ReturnType<typeof builder.objectRef<Shape>>['implement']>

/** The answer of a mutation: what it makes, or one of the refusals that it can meet. */
export function resultUnion<Success extends object>(
  name: string,
  description: string,
  success: Ref<Success>,
  codes: readonly RefusalCode[],
) {
  const union = builder.unionType(name, {
    description,
    types: [...new Set([success, ...codes.map(code => errorTypes[code])])],
  })
  /** Runs the mutation. Refusals become its answer, in the names of its input; whatever else happens is an error. */
  async function answer(names: Record<string, string>, mutate: () => Promise<Success>): Promise<Success | Refused> {
    try {
      const made = await mutate()
      brandWithType(made, success)
      return made
    } catch (error) {
      const known = renameIssues(explainFailure(error), names)
      if (known instanceof DomainError && codes.some(code => code === known.code)) return refused(known)
      throw error
    }
  }
  return { union, answer }
}
