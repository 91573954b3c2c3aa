// What a request or a pass sets off, and does not wait for. It outlives the span, so it is no part of its trace.

import { context, createContextKey, type Link, ROOT_CONTEXT, trace } from '@opentelemetry/api'

/** A link to the span of what set something off. */
export type Cause = Link

const causeKey = createContextKey('the span that set this off')

/** Does the work outside of all spans. */
export function outsideTraces<Result>(work: () => Result): Result {
  const span = trace.getActiveSpan()
  return context.with(span ? ROOT_CONTEXT.setValue(causeKey, { context: span.spanContext() }) : ROOT_CONTEXT, work)
}

/** The span that called `outsideTraces`; undefined if there was none. */
export function currentCause(): Cause | undefined {
  // Only `outsideTraces` sets it.
  return context.active().getValue(causeKey) as Cause | undefined
}
