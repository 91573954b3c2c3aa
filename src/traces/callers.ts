// Work that is done later than it is asked for, or for several callers at once, in the traces of its callers.

import { type Context, context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { inTrace } from './spans.ts'

/** What a span is done in; undefined outside of spans. */
export type Caller = Context | undefined

export function currentCaller(): Caller {
  return trace.getActiveSpan() && context.active()
}

export function doFor<Result>(caller: Caller, work: () => Result): Result {
  return context.with(caller ?? ROOT_CONTEXT, work)
}

/** The callback, in the trace of the caller. It may be called by what others do. */
export function keepTrace<Callback extends (...args: never[]) => void>(callback: Callback): Callback {
  const caller = currentCaller()
  return caller ? context.bind(caller, callback) : callback
}

/**
 * Does the work that several callers share in a span of its own. It belongs to the trace of the first, and has links to the spans
 * of the others.
 */
export function inSharedSpan<Result>(name: string, callers: readonly Caller[], work: () => Result): Result {
  const [first, ...others] = callers.flatMap(caller => {
    const span = caller && trace.getSpan(caller)
    return caller && span?.isRecording() ? { caller, link: { context: span.spanContext() } } : []
  })
  if (!first || others.length === 0) return doFor(first?.caller, work)
  const options = { parent: first.caller, links: others.map(({ link }) => link) }
  return inTrace(name, { ...options, attributes: { 'berth.batch.size': callers.length } }, work)
}
