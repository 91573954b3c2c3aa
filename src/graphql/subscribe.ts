import { createSourceEventStream, type ExecutionArgs, type ExecutionResult, execute, GraphQLError } from 'graphql'
import type { Context } from './context.ts'
import { toClientError, withoutStatus } from './errors/errors.ts'
import { inOperationSpan } from './execution/operation-span.ts'
import { toAnswer } from './limits/answer.ts'
import { costRefusal } from './limits/cost-plugin.ts'

export type ResultStream = AsyncIterableIterator<ExecutionResult, undefined>

/**
 * Opens a subscription, for every transport: Yoga's plugins have no part in it. Each result gets its own context, because
 * data loaded for one event is stale for the next. If the gateway ends the stream, the last result holds the error.
 */
export async function subscribe(args: ExecutionArgs): Promise<ResultStream | ExecutionResult> {
  const refusal = costRefusal(args)
  if (refusal) return { errors: [refusal] }
  // Every transport gives this context.
  const context = args.contextValue as Context
  const source = await inOperationSpan(args, () => createSourceEventStream(args))
  if (Symbol.asyncIterator in source) return createResultStream(source[Symbol.asyncIterator](), args, context)
  return { ...source, errors: source.errors?.map(error => toClientError(error, args.schema, context)) ?? [] }
}

function createResultStream(source: AsyncIterator<unknown>, args: ExecutionArgs, context: Context): ResultStream {
  const done = { done: true, value: undefined } as const
  const { disconnected } = context
  let ended = false

  async function executeEvent(event: unknown): Promise<ExecutionResult> {
    return toAnswer(await execute({ ...args, rootValue: event, contextValue: { ...context } }), false, args)
  }

  function errorResult(error: unknown): ExecutionResult {
    const originalError = error instanceof Error ? error : new Error(String(error))
    const failure = new GraphQLError(originalError.message, { originalError })
    return { errors: [withoutStatus(toClientError(failure, args.schema, context))] }
  }

  async function end(): Promise<void> {
    ended = true
    disconnected?.removeEventListener('abort', end)
    await source.return?.()
  }

  // If the client disconnects before the answer starts, nothing else closes the source.
  disconnected?.addEventListener('abort', end)
  if (disconnected?.aborted) void end()
  return {
    async next() {
      try {
        const item = ended ? done : await source.next()
        if (item.done) {
          await end()
          return done
        }
        const value = await executeEvent(item.value)
        // Ends the stream at an event that fails, so that the client resumes before it instead of missing it.
        if (!value.data) await end()
        return { done: false, value }
      } catch (error) {
        await end()
        return { done: false, value: errorResult(error) }
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
