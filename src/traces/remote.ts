import { type Context, propagation, ROOT_CONTEXT } from '@opentelemetry/api'

/** The trace that the headers of a request continue, if the operator's SDK takes that from headers. */
export function remoteParent(headers: object): Context {
  return propagation.extract(ROOT_CONTEXT, headers)
}
