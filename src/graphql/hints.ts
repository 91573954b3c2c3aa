// Adds hints to `extensions.hints` of an answer, about fields whose arguments may mean something else, and about refusals that the
// answer does not show. They are no errors.

import { type ExecutionResult, type ResponsePath, responsePathAsArray } from 'graphql'
import type { Context } from './context.ts'
import { hintsOfUnseen } from './errors/unseen-refusals.ts'

type Hinted = { path: readonly (string | number)[]; messages: string[] }

/** A hint may take a statement, so the fields of one operation get no more hints than a person reads. */
const maxHintedFields = 3

/** `turn` ends when the fields that came before have been looked at: only then it is known whether they have hints. */
const hintsOfOperation = new WeakMap<Context, { hinted: Hinted[]; turn: Promise<void> }>()

/** Calls `read`, unless enough other fields of the operation have hints. */
export async function addHints(context: Context, path: ResponsePath, read: () => Promise<string[]>): Promise<void> {
  const hints = hintsOfOperation.get(context) ?? { hinted: [], turn: Promise.resolve() }
  hintsOfOperation.set(context, hints)
  const looked = hints.turn.then(async () => {
    const messages = hints.hinted.length < maxHintedFields ? await read() : []
    if (messages.length > 0) hints.hinted.push({ path: responsePathAsArray(path), messages })
  })
  hints.turn = looked.catch(() => undefined)
  await looked
}

export function withHints(answer: ExecutionResult, context: Context): ExecutionResult {
  const { hinted = [] } = hintsOfOperation.get(context) ?? {}
  const found = hinted.flatMap(({ path, messages }) => messages.map(message => ({ path, message })))
  const hints = [...found, ...hintsOfUnseen(answer, context)]
  return hints.length > 0 ? { ...answer, extensions: { ...answer.extensions, hints } } : answer
}
