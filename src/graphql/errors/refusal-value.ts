import { brandWithType, getTypeBrand } from '@pothos/core'
import type { DomainError } from '../../domain/errors.ts'
import { isRefusalCode, type RefusalCode } from './codes.ts'
import { printMessage } from './message.ts'
import type { RefusalValue } from './refusal.ts'
import { refusalTypes } from './refusal-types.ts'

/** The refusal as a value of its GraphQL type. Throws the error if its code has no type. */
export function toRefusalValue(error: DomainError): RefusalValue {
  if (!hasType(error)) throw error
  const value = { ...error, message: printMessage(error) }
  brandWithType(value, refusalTypes[error.code])
  return value
}

export function isRefusalValue(value: unknown): value is RefusalValue {
  const types: readonly unknown[] = Object.values(refusalTypes)
  return types.includes(getTypeBrand(value))
}

function hasType(error: DomainError): error is DomainError<RefusalCode> {
  return isRefusalCode(error.code)
}
