import { type ExecutionResult, GraphQLError, getOperationAST, parse } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { isTooDeep, maxNestingLevels } from '../domain/nesting.ts'
import { createStaleScope } from '../services/reads/stale.ts'
import type { Context } from './context.ts'
import { redactError } from './errors/errors.ts'
import { completeErrors, faceError } from './errors/face-errors.ts'
import { refuseUnknownOperation } from './errors/unknown-operation.ts'
import { executeQuery } from './execution/execute.ts'
import { inOperationSpan } from './execution/operation-span.ts'
import { withHints } from './hints.ts'
import { toAnswer } from './limits/answer.ts'
import { operationLimits } from './limits/operation-limits.ts'
import { payForText } from './limits/points.ts'
import { validateWithinLimits } from './limits/validate.ts'
import { subscribe } from './subscribe.ts'
import { subscriptionRule } from './subscription-rule.ts'
import { acceptsStream } from './transport/media-types.ts'

export const limitsPlugin: Plugin<Context> = {
  /** Refuses deep variables first: GraphQL coerces them recursively and would overflow the stack. */
  onParams({ params, setResult }) {
    const { operationName }: { operationName?: unknown } = params
    if (operationName != null && typeof operationName !== 'string')
      throw badRequest('"operationName" must be a string.')
    const refusal = checkVariables(params.variables)
    if (refusal) setResult({ errors: [refusal] })
  },
  onParse({ params, context, setParseFn }) {
    // Yoga keeps an error of the parser, but not this one.
    payForText(String(params.source), context)
    const parseWithinLimits: typeof parse = (source, options) => {
      try {
        return parse(source, { ...options, maxTokens: operationLimits.tokens })
      } catch (error) {
        throw error instanceof GraphQLError ? redactError(error, 'GRAPHQL_PARSE_FAILED') : error
      }
    }
    setParseFn(parseWithinLimits)
    // Yoga would refuse an unknown operation without a word about those that there are.
    return ({ result }) => {
      if (result instanceof Error || !context.request) return
      const refusal = refuseUnknownOperation(result, context.params.operationName)
      if (refusal) throw refusal
    }
  },
  onValidate({ setValidationFn, addValidationRule }) {
    addValidationRule(subscriptionRule)
    setValidationFn(validateWithinLimits)
  },
}

export function checkVariables(variables: unknown): GraphQLError | undefined {
  if (!isTooDeep(variables)) return undefined
  const message = `The variables have too many levels; at most ${maxNestingLevels} are allowed.`
  return faceError('BAD_USER_INPUT', message)
}

/** Yoga's request parsers echo the input in their errors, and report some client mistakes as 500. Both are rewritten. */
export const requestErrorsPlugin: Plugin = {
  onRequestParse({ requestParser, setRequestParser }) {
    if (!requestParser) return
    setRequestParser(async request => {
      try {
        return await requestParser(request)
      } catch (error) {
        throw error instanceof SyntaxError
          ? badRequest('The variables or the extensions are not JSON.')
          : error instanceof GraphQLError && error.extensions['originalError']
            ? badRequest(error.message)
            : error
      }
    })
  },
}

function badRequest(message: string): GraphQLError {
  return faceError('BAD_REQUEST', message)
}

/** Completes errors of answers over HTTP. Those of streams and WebSockets do not pass here. */
export const completeErrorsPlugin: Plugin = {
  onResultProcess({ result, setResult }) {
    // Batching is off, so only a stream is no single result.
    const answer = result as ExecutionResult
    if (answer.errors) setResult({ ...answer, errors: completeErrors(answer) })
  },
}

export const executionErrorsPlugin: Plugin<Context> = {
  onExecute({ args, executeFn, setExecuteFn }) {
    const { operation } = getOperationAST(args.document, args.operationName) ?? {}
    const { run, stalenessMs } = createStaleScope()
    const execute: typeof executeFn = executed =>
      inOperationSpan(executed, () => executeQuery(executed) ?? executeFn(executed))
    setExecuteFn(operation === 'query' ? executed => run(() => execute(executed)) : execute)
    return {
      onExecuteDone({ result, setResult }) {
        // The schema has neither @defer nor @stream, so an execution has one result.
        const answer = toAnswer(result as ExecutionResult, operation === 'mutation', args)
        setResult(withHints(withStaleness(answer, stalenessMs()), args.contextValue))
      },
    }
  },
}

/** `seconds`: changes of so long ago may be missing. */
function withStaleness(answer: ExecutionResult, stalenessMs: number | undefined): ExecutionResult {
  if (stalenessMs === undefined) return answer
  return { ...answer, extensions: { ...answer.extensions, staleness: { seconds: Math.ceil(stalenessMs) / 1_000 } } }
}

export const subscriptionsPlugin: Plugin<Context> = {
  onSubscribe({ args, setSubscribeFn, setResultAndStopExecution }) {
    const { request } = args.contextValue
    // An operation over a WebSocket has no request.
    if (request && !acceptsStream(request.headers.get('accept')))
      setResultAndStopExecution({ errors: [streamNotAccepted()] })
    else setSubscribeFn(subscribe)
  },
}

function streamNotAccepted(): GraphQLError {
  const message =
    'A subscription is answered as a stream. Send the header "Accept: text/event-stream", or subscribe over a WebSocket.'
  return faceError('BAD_REQUEST', message, { http: { status: 406 } })
}
