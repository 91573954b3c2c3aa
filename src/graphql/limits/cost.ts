// What an operation costs: the fields that it can answer, and the machines that it reads.

import { complexityFromQuery } from '@pothos/plugin-complexity'
import { type ExecutionArgs, type ExecutionResult, GraphQLError, getOperationAST, Kind } from 'graphql'
import { maxPageSize } from '../../domain/pages.ts'
import type { Context } from '../context.ts'

/** Maximum number of fields in one answer. A field inside lists counts once for each item that they can have. */
export const maxCost = 10_000

/**
 * Maximum number of machines that one operation reads. Each read sends a request and waits up to five seconds, which the
 * number of fields does not say: a page of instances with one line each is a small answer.
 */
export const maxMachineReads = maxPageSize

export function costError(requested: number): GraphQLError {
  const message = `This operation can cost ${requested} fields; at most ${maxCost} are allowed. Ask for smaller pages.`
  return new GraphQLError(message, { extensions: { code: 'COST_LIMIT_EXCEEDED' } })
}

const machineReads = new WeakMap<Context, number>()

/** Counts a request to a machine. Throws once the operation has sent the maximum, so that only the field itself fails. */
export function countMachineRead(context: Context): void {
  const count = (machineReads.get(context) ?? 0) + 1
  if (count > maxMachineReads) {
    const message = `This operation reads more than ${maxMachineReads} machines, the maximum. Read the logs of fewer instances.`
    throw new GraphQLError(message, { extensions: { code: 'COST_LIMIT_EXCEEDED' } })
  }
  machineReads.set(context, count)
}

/** Adds the cost of an executed operation. An answer without data is of an operation that was not executed. */
export function withCost(
  { schema, document, operationName, variableValues, contextValue }: ExecutionArgs,
  result: ExecutionResult,
): ExecutionResult {
  const operation = getOperationAST(document, operationName)
  if (!operation || result.data === undefined) return result
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
  const { complexity: requested } = complexityFromQuery(
    { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] },
    { schema, ctx: contextValue as Context, variables: variableValues ?? {} },
  )
  return { ...result, extensions: { ...result.extensions, cost: { requested, limit: maxCost } } }
}
