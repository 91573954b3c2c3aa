import { type ExecutionArgs, getOperationAST } from 'graphql'
import { inSpanOrTrace } from '../../traces/spans.ts'
import { isTracing } from '../../traces/tracer.ts'

/** Longer names are cut: clients choose them. */
const maxNameLength = 100

/**
 * Executes an operation in a span, which has the operation's type and name and nothing else of the document. An operation over a
 * WebSocket begins a trace.
 */
export function inOperationSpan<Result>(
  { document, operationName }: Pick<ExecutionArgs, 'document' | 'operationName'>,
  execute: () => Result,
): Result {
  if (!isTracing()) return execute()
  const { operation = 'operation', name } = getOperationAST(document, operationName) ?? {}
  const attributes = {
    'graphql.operation.type': operation,
    ...(name && { 'graphql.operation.name': name.value.slice(0, maxNameLength) }),
  }
  return inSpanOrTrace(operation, { attributes }, execute)
}
