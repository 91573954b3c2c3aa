import type { ExecutionArgs, ExecutionResult, GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { Context } from '../context.ts'
import { costError, maxCost } from './cost.ts'
import { operationCost } from './operation-cost.ts'
import { operationPoints, pointsRefusal } from './points.ts'

/** Refuses an operation that costs too much, takes its points, and shows what each query or mutation costs. */
export const costPlugin: Plugin<Context> = {
  onExecute({ args, setResultAndStopExecution }) {
    const requested = operationCost(args)
    if (requested === undefined) return undefined
    const refusal = costRefusal(args, requested)
    if (refusal) setResultAndStopExecution({ errors: [refusal] })
    const cost = { requested, limit: maxCost, ...pointsOf(args) }
    return {
      // The schema has neither @defer nor @stream, so an execution has one result.
      onExecuteDone: ({ result, setResult }) =>
        setResult({ ...(result as ExecutionResult), extensions: { ...(result as ExecutionResult).extensions, cost } }),
    }
  },
}

/** Takes the points of the operation. Returns why it may not run, if it costs too much or more than the caller has. */
export function costRefusal(args: ExecutionArgs, requested = operationCost(args)): GraphQLError | undefined {
  if (requested === undefined) return undefined
  if (requested > maxCost) return costError(requested)
  // Every transport gives this context.
  const { meter, actor } = args.contextValue as Context
  return pointsRefusal(() => meter.take(actor, operationPoints(args, requested)))
}

/** Points that the operation has taken, and those that the caller has left. Nothing where nothing limits it. */
function pointsOf({ contextValue }: ExecutionArgs): object {
  const status = (contextValue as Context).meter.status()
  return status ? { points: status.cost, remaining: status.remaining } : {}
}
