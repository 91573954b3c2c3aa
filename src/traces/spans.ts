import {
  type Attributes,
  type Context,
  context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { findTracer } from './tracer.ts'

export type { Attributes } from '@opentelemetry/api'

type SpanOptions = {
  /** Ids and names alone: no secret, no address, and nothing that a client or a renter wrote. */
  attributes?: Attributes
  /** By default, the span is of work inside the gateway. */
  kind?: keyof typeof SpanKind
}

/** Ends the span, as failed if there is an error. */
export type EndSpan = (error?: unknown) => void

/** Whether there is a current span that has not ended and is not left out of the operator's sample. */
export function isInSpan(): boolean {
  return trace.getActiveSpan()?.isRecording() ?? false
}

/**
 * Begins a span of what the caller does now. Undefined outside of spans, so that what the gateway does all the time, such as
 * looking for due work, is not traced.
 */
export function beginSpan(name: string, { attributes = {}, kind = 'INTERNAL' }: SpanOptions = {}): EndSpan | undefined {
  const tracer = findTracer()
  if (!tracer || !isInSpan()) return undefined
  const span = tracer.startSpan(name, { attributes, kind: SpanKind[kind] })
  return error => endSpan(span, error)
}

/** Does the work in a span of what the caller does now. Outside of spans, the work has none. */
export function inSpan<Result>(name: string, options: SpanOptions, work: () => Result): Result {
  return isInSpan() ? workInSpan(name, options, context.active(), work) : work()
}

/** As `inSpan`. Outside of spans, it begins a trace. */
export function inSpanOrTrace<Result>(name: string, options: SpanOptions, work: () => Result): Result {
  return workInSpan(name, options, context.active(), work)
}

/** Does the work in a new trace, or in that of `parent`. */
export function inTrace<Result>(
  name: string,
  { parent = ROOT_CONTEXT, ...options }: SpanOptions & { links?: Link[]; parent?: Context },
  work: () => Result,
): Result {
  return workInSpan(name, options, parent, work)
}

function workInSpan<Result>(
  name: string,
  { attributes = {}, kind = 'INTERNAL', links = [] }: SpanOptions & { links?: Link[] },
  parent: Context,
  work: () => Result,
): Result {
  const tracer = findTracer()
  if (!tracer) return work()
  const span = tracer.startSpan(name, { attributes, kind: SpanKind[kind], links }, parent)
  let result: Result
  try {
    result = context.with(trace.setSpan(parent, span), work)
  } catch (error) {
    endSpan(span, error)
    throw error
  }
  if (isThenable(result))
    result.then(
      () => span.end(),
      (error: unknown) => endSpan(span, error),
    )
  else span.end()
  return result
}

function isThenable(result: unknown): result is PromiseLike<unknown> {
  return typeof result === 'object' && result !== null && 'then' in result
}

/** The id of the current trace, for lines of the log; undefined outside of spans. */
export function currentTraceId(): string | undefined {
  return trace.getActiveSpan()?.spanContext().traceId
}

/** Gives the current span a name, once its work is known. */
export function nameSpan(name: string, attributes: Attributes): void {
  trace.getActiveSpan()?.updateName(name).setAttributes(attributes)
}

/** Adds to what the current span says of its work. */
export function describeSpan(attributes: Attributes): void {
  trace.getActiveSpan()?.setAttributes(attributes)
}

/** Marks the current span as failed. */
export function failSpan(error: unknown): void {
  const span = trace.getActiveSpan()
  if (span) markFailed(span, error)
}

function endSpan(span: Span, error: unknown): void {
  if (error !== undefined && error !== null) markFailed(span, error)
  span.end()
}

/** No message and no stack: both may quote what a client sent, or rows of the database. */
function markFailed(span: Span, error: unknown): void {
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.setAttribute('error.type', errorTypeOf(error))
}

function errorTypeOf(error: unknown): string {
  if (typeof error === 'string') return error
  const { code, name }: { code?: unknown; name?: unknown } = typeof error === 'object' && error ? error : {}
  return String(code ?? name ?? '_OTHER')
}
