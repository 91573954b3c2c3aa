// Traces that begin outside of this gateway.

import { type Context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api'

/** The trace that the headers of a request continue, if the operator's SDK takes that from headers. */
export function remoteParent(headers: object): Context {
  return propagation.extract(ROOT_CONTEXT, headers)
}

/** The current span, for another gateway to continue its trace, as the header `traceparent` has it. Null outside of spans. */
export function currentTraceParent(): string | null {
  const span = trace.getActiveSpan()
  if (!span) return null
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}

/** What another gateway got from `currentTraceParent`. */
export function parentOf(traceParent: string): Context {
  const [, traceId = '', spanId = '', flags = ''] = traceParent.split('-')
  const traceFlags = Number.parseInt(flags, 16)
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}
