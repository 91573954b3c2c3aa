import { type DetailsOf, retryable } from '../../domain/errors.ts'
import { builder } from '../builder.ts'
import { type RefusalCode, refusals } from './codes.ts'

export const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description: 'What a refusal is about.',
  values: refusals,
})

/** A refusal as a value, since whatever is an Error fails the field that it is returned from. */
export type RefusalValue<C extends RefusalCode = RefusalCode> = {
  [Code in C]: { code: Code; message: string; details: DetailsOf[Code] }
}[C]

export const Refusal = builder.interfaceRef<RefusalValue>('Error').implement({
  description: 'Why something was not done. Nothing of it was.',
  fields: t => ({
    code: t.field({
      type: ErrorCodeEnum,
      description: 'For programs.',
      resolve: ({ code }) => code,
    }),
    message: t.exposeString('message', { description: 'For people.' }),
    retryable: t.boolean({
      description:
        'Whether the same request may succeed by itself when it is repeated later. Where it is false, change something first: the request, or what the message names.',
      resolve: ({ code }) => retryable[code],
    }),
  }),
})

/** The type of the errors with a code, which has what their details say. */
export function refusalType<C extends RefusalCode>(code: C) {
  return builder.objectRef<RefusalValue<C>>(refusals[code].type)
}
