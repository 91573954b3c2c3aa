// Executes queries as GraphQL Tools does, which executes all other operations, with less work for each object of a list. What
// a field is, what it selects and its arguments are the same for all objects, and are found out once for an execution.

import {
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLObjectType,
  getOperationAST,
  getVariableValues,
  Kind,
  OperationTypeNode,
} from 'graphql'
import { type Execution, rootFieldsOf } from './fields.ts'
import { isPromise } from './promises.ts'
import { type Answer, executeFields } from './values.ts'

type Result = ExecutionResult | Promise<ExecutionResult>

/** Undefined for anything but a query that can run. GraphQL Tools executes it, or explains what is wrong with its variables. */
export function executeQuery(args: ExecutionArgs): Result | undefined {
  const { schema, document, rootValue, contextValue: context, variableValues } = args
  const operation = getOperationAST(document, args.operationName)
  const rootType = schema.getQueryType()
  if (operation?.operation !== OperationTypeNode.QUERY || !rootType) return undefined
  const definitions = operation.variableDefinitions ?? []
  const { coerced } = getVariableValues(schema, definitions, variableValues ?? {}, { maxErrors: 1 })
  if (!coerced) return undefined
  const fragments = Object.fromEntries(
    document.definitions.flatMap(each => (each.kind === Kind.FRAGMENT_DEFINITION ? [[each.name.value, each]] : [])),
  )
  return executeRoot(
    { schema, fragments, rootValue, operation, variableValues: coerced, context, errors: [] },
    rootType,
  )
}

function executeRoot(execution: Execution, type: GraphQLObjectType): Result {
  const { errors, rootValue } = execution
  const finish = (data: Answer): ExecutionResult => (errors.length === 0 ? { data } : { errors, data })
  const fail = (error: unknown): ExecutionResult => {
    errors.push(error as GraphQLError)
    return { errors, data: null }
  }
  try {
    const answer = executeFields(rootFieldsOf(execution, type), rootValue, undefined)
    return isPromise(answer) ? answer.then(finish, fail) : finish(answer)
  } catch (error) {
    return fail(error)
  }
}
