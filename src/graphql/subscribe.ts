import { createSourceEventStream, type ExecutionArgs, type ExecutionResult, execute, GraphQLError } from 'graphql'
import { withinSize } from './answer-size.ts'
import type { Context } from './context.ts'
import { explainError, withoutStatus } from './errors/errors.ts'

export type Results = AsyncIterableIterator<ExecutionResult, undefined>

/**
 * Opens a subscription. Each result is made in a context of its own: what was loaded for one event is stale for the next.
 * Whatever ends the stream against its reader's wish is told in a last result.
 */
export async function subscribe(args: ExecutionArgs): Promise<Results | ExecutionResult> {
  // The plugins that call this are plugins of a Yoga with this context.
  const context = args.contextValue as Context
  const source = await createSourceEventStream(args)
  if (Symbol.asyncIterator in source) return resultsOf(source[Symbol.asyncIterator](), args, context)
  return { ...source, errors: source.errors?.map(error => explainError(error, context)) ?? [] }
}

function resultsOf(source: AsyncIterator<unknown>, args: ExecutionArgs, context: Context): Results {
  const done = { done: true, value: undefined } as const
  const { gone } = context
  let ended = false

  async function resultOf(event: unknown): Promise<ExecutionResult> {
    const { errors, ...rest } = await execute({ ...args, rootValue: event, contextValue: { ...context } })
    const told = errors?.map(error => withoutStatus(explainError(error, context)))
    return withinSize(told ? { ...rest, errors: told } : rest, false)
  }

  function lastOf(error: unknown): ExecutionResult {
    const originalError = error instanceof Error ? error : new Error(String(error))
    return {
      errors: [withoutStatus(explainError(new GraphQLError(originalError.message, { originalError }), context))],
    }
  }

  async function end(): Promise<void> {
    ended = true
    gone.removeEventListener('abort', end)
    await source.return?.()
  }

  // Nobody reads, and so nobody closes, the answer to a client that went before there was one.
  gone.addEventListener('abort', end)
  if (gone.aborted) void end()
  return {
    async next() {
      try {
        const item = ended ? done : await source.next()
        if (item.done) {
          await end()
          return done
        }
        const value = await resultOf(item.value)
        // Its reader is to begin again before an event that cannot be told, and not to miss it.
        if (!value.data) await end()
        return { done: false, value }
      } catch (error) {
        await end()
        return { done: false, value: lastOf(error) }
      }
    },
    async return() {
      await end()
      return done
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
