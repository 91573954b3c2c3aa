// What is answered in place of a value that failed.

import { locatedError, type ResponsePath, responsePathAsArray } from 'graphql'
import type { Field } from './fields.ts'
import type { Shape } from './shape.ts'

export type Fail = (field: Field, path: ResponsePath, shape: Shape, thrown: unknown) => null

/** Node throws several errors as one if it cannot connect to any address of a host. GraphQL Tools tells each of them, too. */
export const failField: Fail = (field, path, shape, thrown) => {
  const errors = thrown instanceof AggregateError && thrown.errors.length > 0 ? thrown.errors : [thrown]
  for (const error of errors) failItem(field, path, shape, error)
  return null
}

/** Null, or throws if the value must not be null: its object is null then. */
export const failItem: Fail = (field, path, shape, thrown) => {
  const error = locatedError(thrown, field.nodes, responsePathAsArray(path))
  if (shape.isNonNull) throw error
  field.execution.errors.push(error)
  return null
}
