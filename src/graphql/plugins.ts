import { type ExecutionResult, GraphQLError, getOperationAST, parse, validate } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { isTooDeep, maxNestingLevels } from '../domain/nesting.ts'
import { parseAccept } from '../http/accept.ts'
import { limitAnswerSize } from './answer-size.ts'
import type { Context } from './context.ts'
import { redactError, toClientError, withoutStatus } from './errors/errors.ts'
import { limitsRule, operationLimits } from './operation-limits.ts'
import { subscribe } from './subscribe.ts'
import { subscriptionRule } from './subscription-rule.ts'

export const limitsPlugin: Plugin = {
  /** GraphQL follows variables as deep as they go, which is deeper than the stack. */
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
      // Alone and first: some of the other rules take long for exactly what this refuses.
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

/** Its readers put what went wrong into the error, with what was sent, and take some of it for a failure of ours. */
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

export const executionErrorsPlugin: Plugin<Context> = {
  onExecute({ args }) {
    return {
      onExecuteDone({ result, setResult }) {
        const { operation } = getOperationAST(args.document, args.operationName) ?? {}
        // Without @defer and @stream an execution has one result.
        const { errors, ...rest } = result as ExecutionResult
        const explained = errors?.map(error => toClientError(error, args.contextValue))
        const answered = rest.data ? explained?.map(withoutStatus) : explained
        setResult(limitAnswerSize(answered ? { ...rest, errors: answered } : rest, operation === 'mutation'))
      },
    }
  },
}

export const subscriptionsPlugin: Plugin<Context> = {
  onSubscribe({ args, setSubscribeFn, setResultAndStopExecution }) {
    const { request } = args.contextValue
    // Over a WebSocket there is none.
    if (request && !acceptsStream(request)) setResultAndStopExecution({ errors: [streamNotAccepted()] })
    else setSubscribeFn(subscribe)
  },
}

/** Any wildcard is refused, too: a client that sends its default waits for an end that a stream does not have. */
function acceptsStream({ headers }: Request): boolean {
  return parseAccept(headers.get('accept')).includes('text/event-stream')
}

function streamNotAccepted(): GraphQLError {
  const message =
    'A subscription is answered as a stream. Send the header "Accept: text/event-stream", or subscribe over a WebSocket.'
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 406 } } })
}
