// Subscriptions as Server-Sent Events, in the protocol of GraphQL over SSE, and in the words that Yoga writes.

import type { ExecutionResult } from 'graphql'
import { comment, type EventStream } from '../../http/event-stream.ts'
import type { RequestContext } from '../../http/router.ts'
import { withoutStatus } from '../errors/errors.ts'
import type { ResultStream } from '../subscribe.ts'

/** The events of a subscription. A failure ends them without a completion, so that the client resumes. */
export function toEvents(items: ResultStream, log: RequestContext['log']): EventStream<ExecutionResult> {
  return { items, print: printResult, completion, onFailure: error => log.error({ err: error }, 'A stream failed.') }
}

const completion = 'event: complete\ndata:\n\n'

function printResult(result: ExecutionResult): string {
  const { errors } = result
  // The status of the answer has been sent.
  return printEvent(JSON.stringify(errors ? { ...result, errors: errors.map(withoutStatus) } : result))
}

/** The whole stream of a subscription that was refused, with its only result as JSON. */
export function printSingleResult(result: string): string {
  return comment + printEvent(result) + completion
}

function printEvent(result: string): string {
  return `event: next\ndata: ${result}\n\n`
}
