import { type DetailsOf, retryable } from '../../domain/errors.ts'
import { builder } from '../builder.ts'
import { type RefusalCode, refusals } from './codes.ts'

export const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description: 'Machine-readable reason for an error. New codes may be added.',
  values: refusals,
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
    retryable: t.boolean({
      description:
        'True if the identical request can succeed later without a change by you. If false, change the request or what the message names, then try again.',
      resolve: ({ code }) => retryable[code],
    }),
  }),
})

/** The object type of the errors with this code. Its fields read their details. */
export function refusalType<C extends RefusalCode>(code: C) {
  return builder.objectRef<RefusalValue<C>>(refusals[code].type)
}
