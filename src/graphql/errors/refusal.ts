import type { DetailsOf } from '../../domain/errors.ts'
import { type RetryAdvice, retryAdviceOf, retryAfterOf } from '../../domain/retry.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { type RefusalCode, refusals } from './codes.ts'

export const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description: 'Machine-readable reason for an error. New codes may be added.',
  values: refusals,
})

const RetryAdviceEnum = enumOf<RetryAdvice>('RetryAdvice', 'What you can do after an error.', {
  never: 'The same request can never succeed: what it names is gone or taken. Make another request.',
  afterFix: 'Change the request, or what the message names, such as the credit of the account. Then try again.',
  later:
    'The identical request can succeed later without a change by you. Wait until `retryAfter`, or some seconds if that is null.',
})

/** A refusal as a plain value: a resolver that returned an instance of `Error` would fail its field. */
export type RefusalValue<C extends RefusalCode = RefusalCode> = {
  [Code in C]: { code: Code; message: string; details: DetailsOf[Code] }
}[C]

export const Refusal = builder.interfaceRef<RefusalValue>('Error').implement({
  description: 'Why a change was refused. A refused change is not applied, not even in part.',
  fields: t => ({
    code: t.field({
      type: ErrorCodeEnum,
      description: 'Machine-readable reason for the error.',
      resolve: ({ code }) => code,
    }),
    message: t.exposeString('message', { description: 'Explanation for people. The wording may change.' }),
    retry: t.field({
      type: RetryAdviceEnum,
      description: 'What you can do: nothing with this request, mend it first, or repeat it later.',
      resolve: retryAdviceOf,
    }),
    retryAfter: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Earliest time at which repeating the request is worthwhile. Null if that is not known.',
      resolve: retryAfterOf,
    }),
  }),
})

/** The object type of the errors with this code. Its fields read their details. */
export function refusalType<C extends RefusalCode>(code: C) {
  return builder.objectRef<RefusalValue<C>>(refusals[code].type)
}
