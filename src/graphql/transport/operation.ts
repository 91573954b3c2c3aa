// An operation on its way to its execution, for requests that Yoga does not answer itself: those over a WebSocket, and plain
// requests over HTTP. It passes the plugins and limits of all others.

import { type DocumentNode, type ExecutionArgs, GraphQLError } from 'graphql'
import type { YogaServerInstance } from 'graphql-yoga'
import type { Context } from '../context.ts'
import { createDocumentCache } from '../document-cache.ts'
import { thrownError } from '../errors/errors.ts'
import { refuseUnknownOperation } from '../errors/unknown-operation.ts'
import { checkVariables } from '../plugins.ts'

export type Envelop = YogaServerInstance<Context, object>['getEnveloped']
export type OperationParams = { query: string; variables?: unknown; operationName?: string | null | undefined }
/** The arguments of an execution, with the function that executes a query or mutation. */
export type PreparedOperation = ExecutionArgs & Pick<ReturnType<Envelop>, 'execute'>

/** True for every mutation, and for some queries. GraphQL has no other spelling of this word. */
export function mayMutate({ query }: OperationParams): boolean {
  return query.includes('mutation')
}

const validDocuments = createDocumentCache<DocumentNode>()

/** Parses and validates the operation, or says why it cannot run. */
export async function prepareOperation(
  envelop: Envelop,
  context: Context,
  { query, variables, operationName }: OperationParams,
): Promise<PreparedOperation | readonly GraphQLError[]> {
  const refusal = checkVariables(variables)
  if (refusal) return [refusal]
  try {
    const { schema, parse, validate, contextFactory, execute } = envelop(context)
    const known = validDocuments.get(query)
    const document: DocumentNode = known ?? parse(query)
    const unknown = refuseUnknownOperation(document, operationName)
    if (unknown) return [unknown]
    if (!known) {
      const errors = validate(schema, document)
      if (errors.length > 0) return errors
      validDocuments.set(query, document)
    }
    const contextValue = await contextFactory()
    // Execution refuses variables that are no object.
    const variableValues = variables as Record<string, unknown>
    return { schema, document, contextValue, variableValues, operationName, execute }
  } catch (error) {
    if (error instanceof GraphQLError) return [error]
    return [thrownError(new GraphQLError(''), toError(error), context)]
  }
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
