// Spans go to the OpenTelemetry SDK that the operator loads before the program. Without one, nothing is traced.

import { ProxyTracerProvider, type Tracer, type TracerProvider, trace } from '@opentelemetry/api'

/** Undefined without an SDK. The API's own tracer would then make a span that leads nowhere, each time. */
export function findTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider()
  // An SDK that brings its own copy of the API has registered the provider of that copy.
  return provider instanceof ProxyTracerProvider ? provider.getDelegateTracer('berth') : provider.getTracer('berth')
}

export function isTracing(): boolean {
  return findTracer() !== undefined
}

/** What the providers of SDKs have, and the API does not tell of. */
type Flushable = { getDelegate?(): Flushable; forceFlush?(): Promise<void> }

/** Sends the spans that the SDK still holds. The process ends afterwards. */
export async function sendLastSpans(): Promise<void> {
  const provider = trace.getTracerProvider() as TracerProvider & Flushable
  const sdk = provider.getDelegate?.() ?? provider
  try {
    await sdk.forceFlush?.()
  } catch {
    // The operator's SDK says what it could not send.
  }
}
