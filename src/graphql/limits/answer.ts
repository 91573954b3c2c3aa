// What an executed operation answers: errors that the client may see, and no more of anything than fits.

import type { ExecutionArgs, ExecutionResult } from 'graphql'
import type { Context } from '../context.ts'
import { toClientError, withoutStatus } from '../errors/errors.ts'
import { limitAnswerSize } from './answer-size.ts'
import { limitErrors } from './error-count.ts'

export function toAnswer(
  result: ExecutionResult,
  isMutation: boolean,
  { schema, contextValue }: ExecutionArgs,
): ExecutionResult {
  const { errors, ...rest } = result
  if (!errors) return limitAnswerSize(rest, isMutation)
  const clientErrors = limitErrors(errors.map(error => toClientError(error, schema, contextValue as Context)))
  return limitAnswerSize(
    { ...rest, errors: 'data' in rest ? clientErrors.map(withoutStatus) : clientErrors },
    isMutation,
  )
}
