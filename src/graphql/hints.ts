// Adds hints to `extensions.hints` of an answer, about fields that found nothing, and about refusals that it does not show. Finding
// nothing is no error.

import { type ExecutionResult, type ResponsePath, responsePathAsArray } from 'graphql'
import type { Context } from './context.ts'
import { hintsOfUnseen } from './errors/unseen-refusals.ts'

type Hinted = { path: readonly (string | number)[]; messages: string[] }

/** A hint may take a statement, so the fields of one operation get no more hints than a person reads. */
const maxHintedFields = 3

const hintedFields = new WeakMap<Context, Hinted[]>()

/** Calls `read`, unless other fields of the operation have enough hints. */
export async function addHints(context: Context, path: ResponsePath, read: () => Promise<string[]>): Promise<void> {
  const hinted = hintedFields.get(context) ?? []
  hintedFields.set(context, hinted)
  if (hinted.length === maxHintedFields) return
  const field: Hinted = { path: responsePathAsArray(path), messages: [] }
  hinted.push(field)
  field.messages = await read()
}

export function withHints(answer: ExecutionResult, context: Context): ExecutionResult {
  const hinted = hintedFields.get(context) ?? []
  const found = hinted.flatMap(({ path, messages }) => messages.map(message => ({ path, message })))
  const hints = [...found, ...hintsOfUnseen(answer, context)]
  return hints.length > 0 ? { ...answer, extensions: { ...answer.extensions, hints } } : answer
}
