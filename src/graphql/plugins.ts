import { type ExecutionResult, GraphQLError, getOperationAST, parse, validate } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { isTooDeep, maxNestingLevels } from '../domain/nesting.ts'
import { parseAccept } from '../http/accept.ts'
import type { Context } from './context.ts'
import { redactError, toClientError, withoutStatus } from './errors/errors.ts'
import { limitAnswerSize } from './limits/answer-size.ts'
import { costError, maxCost } from './limits/cost.ts'
import { operationCost } from './limits/operation-cost.ts'
import { limitsRule, operationLimits } from './limits/operation-limits.ts'
import { subscribe } from './subscribe.ts'
import { subscriptionRule } from './subscription-rule.ts'

export const limitsPlugin: Plugin = {
  /** Refuses deep variables first: GraphQL coerces them recursively and would overflow the stack. */
  onParams({ params, setResult }) {
    const refusal = checkVariables(params.variables)
    if (refusal) setResult({ errors: [refusal] })
  },
  onParse({ setParseFn }) {
    const parseWithinLimits: typeof parse = (source, options) => {
      try {
        return parse(source, { ...options, maxTokens: operationLimits.tokens })
      } catch (error) {
        throw error instanceof GraphQLError ? redactError(error) : error
      }
    }
    setParseFn(parseWithinLimits)
  },
  onValidate({ setValidationFn, addValidationRule }) {
    addValidationRule(subscriptionRule)
    const validateWithinLimits: typeof validate = (schema, document, rules, options) => {
      // This rule runs first and alone: other rules are slow for exactly the documents that this rule refuses.
      const tooLarge = validate(schema, document, [limitsRule])
      return tooLarge.length > 0
        ? tooLarge
        : validate(schema, document, rules, { ...options, maxErrors: operationLimits.errors }).map(redactError)
    }
    setValidationFn(validateWithinLimits)
  },
}

export function checkVariables(variables: unknown): GraphQLError | undefined {
  if (!isTooDeep(variables)) return undefined
  const message = `The variables have too many levels; at most ${maxNestingLevels} are allowed.`
  return new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } })
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
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 400 } } })
}

/** Refuses an operation that costs too much, and shows what each query or mutation costs. */
export const costPlugin: Plugin<Context> = {
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
  onSubscribe({ args, setResultAndStopExecution }) {
    const requested = operationCost(args)
    if (requested !== undefined && requested > maxCost) setResultAndStopExecution({ errors: [costError(requested)] })
  },
}

export const executionErrorsPlugin: Plugin<Context> = {
  onExecute({ args }) {
    return {
      onExecuteDone({ result, setResult }) {
        const { operation } = getOperationAST(args.document, args.operationName) ?? {}
        // The schema has neither @defer nor @stream, so an execution has one result.
        const { errors, ...rest } = result as ExecutionResult
        const clientErrors = errors?.map(error => toClientError(error, args.contextValue))
        const shownErrors = rest.data ? clientErrors?.map(withoutStatus) : clientErrors
        const answer = limitAnswerSize(shownErrors ? { ...rest, errors: shownErrors } : rest, operation === 'mutation')
        setResult(answer)
      },
    }
  },
}

export const subscriptionsPlugin: Plugin<Context> = {
  onSubscribe({ args, setSubscribeFn, setResultAndStopExecution }) {
    const { request } = args.contextValue
    // An operation over a WebSocket has no request.
    if (request && !acceptsStream(request)) setResultAndStopExecution({ errors: [streamNotAccepted()] })
    else setSubscribeFn(subscribe)
  },
}

/** A wildcard does not count: a client that sends its default Accept would wait for the end of the stream. */
function acceptsStream({ headers }: Request): boolean {
  return parseAccept(headers.get('accept')).includes('text/event-stream')
}

function streamNotAccepted(): GraphQLError {
  const message =
    'A subscription is answered as a stream. Send the header "Accept: text/event-stream", or subscribe over a WebSocket.'
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 406 } } })
}
