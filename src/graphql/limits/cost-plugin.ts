import type { ExecutionArgs, ExecutionResult, GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { costError, maxCost } from './cost.ts'
import { operationCost } from './operation-cost.ts'

/** Refuses an operation that costs too much, and shows what each query or mutation costs. */
export const costPlugin: Plugin = {
  onExecute({ args, setResultAndStopExecution }) {
    const requested = operationCost(args)
    if (requested === undefined) return undefined
    if (requested > maxCost) setResultAndStopExecution({ errors: [costError(requested)] })
    const cost = { requested, limit: maxCost }
    return {
      // The schema has neither @defer nor @stream, so an execution has one result.
      onExecuteDone: ({ result, setResult }) =>
        setResult({ ...(result as ExecutionResult), extensions: { ...(result as ExecutionResult).extensions, cost } }),
    }
  },
}

/** Why the subscription may not run, if it costs too much. */
export function costRefusal(args: ExecutionArgs): GraphQLError | undefined {
  const requested = operationCost(args)
  return requested !== undefined && requested > maxCost ? costError(requested) : undefined
}
