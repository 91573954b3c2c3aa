// Records the spans that the gateways of this process make, as an operator's SDK does.

import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  SamplingDecision,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'

export type Recorded = ReturnType<typeof recordSpans>

/** Gateways that are made from now on are traced. `sample`: which traces are recorded, by the names of their first spans. */
export function recordSpans({ sample = (_name: string): boolean => true } = {}) {
  const exporter = new InMemorySpanExporter()
  const decide = (name: string) => (sample(name) ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD)
  const root = { shouldSample: (_context: unknown, _id: string, name: string) => ({ decision: decide(name) }) }
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({ root }),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(provider)
  return {
    /** The spans that have ended since the last call of `forget`. */
    spans: (): ReadableSpan[] => exporter.getFinishedSpans(),
    forget: () => exporter.reset(),
    async stop(): Promise<void> {
      trace.disable()
      context.disable()
      propagation.disable()
      await provider.shutdown()
    },
  }
}

export const traceOf = (span: ReadableSpan) => span.spanContext().traceId

export function childrenOf(spans: readonly ReadableSpan[], parent: ReadableSpan): ReadableSpan[] {
  return spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent.spanContext().spanId)
}

/** All spans below a span. */
export function spansBelow(spans: readonly ReadableSpan[], parent: ReadableSpan): ReadableSpan[] {
  return childrenOf(spans, parent).flatMap(child => [child, ...spansBelow(spans, child)])
}

/** Everything that spans say, for searches of what they must not say. */
export function textOfSpans(spans: readonly ReadableSpan[]): string {
  return JSON.stringify(
    spans.map(({ name, attributes, events, links, status }) => ({ name, attributes, events, links, status })),
  )
}
