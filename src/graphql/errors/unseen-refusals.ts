// A mutation that is refused has no entry in `errors`. Where the client selects nothing of its errors, the answer looks as if it
// had succeeded, so a hint says that it was refused.

import type { ExecutionResult, GraphQLField } from 'graphql'
import type { Context } from '../context.ts'
import type { RefusalValue } from './refusal.ts'
import { isRefusalValue } from './refusal-value.ts'

const refusedFields = new WeakMap<Context, Map<string, RefusalValue>>()

/** Makes the mutation remember a refusal until its answer is known. */
export function noteRefusals(mutation: GraphQLField<unknown, Context>): void {
  const { resolve } = mutation
  mutation.resolve = async (root, args, context, info) => {
    const result: unknown = await resolve?.(root, args, context, info)
    if (isRefusalValue(result)) noteRefusal(String(info.path.key), result, context)
    return result
  }
}

function noteRefusal(name: string, refusal: RefusalValue, context: Context): void {
  const refused = refusedFields.get(context) ?? new Map<string, RefusalValue>()
  refusedFields.set(context, refused.set(name, refusal))
}

/** A hint for each refusal of which the answer has nothing. */
export function hintsOfUnseen({ data }: ExecutionResult, context: Context): { path: string[]; message: string }[] {
  return [...(refusedFields.get(context) ?? [])].flatMap(([name, { code, message }]) =>
    isEmpty(data?.[name])
      ? [{ path: [name], message: `Refused (${code}): ${message} Select "... on Error { code message }" to see it.` }]
      : [],
  )
}

function isEmpty(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && Object.keys(answer).length === 0
}
