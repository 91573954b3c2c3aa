// GraphQL over a WebSocket, in the protocol `graphql-transport-ws`. What is asked there passes what a request over HTTP
// passes: the same plugins, the same limits, and the key anew with every operation.

import { type ExecutionArgs, type FormattedExecutionResult, GraphQLError, getOperationAST } from 'graphql'
import { CloseCode, GRAPHQL_TRANSPORT_WS_PROTOCOL, makeServer, type SubscribePayload } from 'graphql-ws'
import type { YogaServerInstance } from 'graphql-yoga'
import { bearerOf } from '../auth/authenticate.ts'
import type { PrismaClient } from '../database/generated/client.ts'
import { type Actor, isInstanceKey } from '../domain/actor.ts'
import { DomainError } from '../domain/errors.ts'
import type { Channel, SocketContext, SocketFace } from '../http/sockets.ts'
import { explainFailure } from '../services/failures.ts'
import type { Services } from '../services/services.ts'
import type { Context } from './context.ts'
import { explainError, withoutStatus } from './errors/errors.ts'
import { checkVariables } from './plugins.ts'

export const linkLimits = { initMs: 3_000, operations: 64, linksPerKey: 32, linksPerAccount: 128 }

/** A socket, from its opening to its end. */
type Link = SocketContext & {
  channel: Channel
  /** Messages that are not answered to their end, a subscription's among them. */
  busy: number
  leaving: boolean
  gone: AbortController
  /** Who opened it. */
  owner?: Actor
}

type Envelop = YogaServerInstance<Context, object>['getEnveloped']
type Enveloped = ReturnType<Envelop>
/** What the server asks to be executed, with what executes it. */
type Operation = ExecutionArgs & Pick<Enveloped, 'execute' | 'subscribe'>

export type LinkDeps = { envelop: Envelop; services: Services; prisma: PrismaClient }

export function createSocketFace({ envelop, services, prisma }: LinkDeps): SocketFace {
  const links = new Set<Link>()
  const server = makeServer<Record<string, unknown>, Link>({
    connectionInitWaitTimeout: linkLimits.initMs,
    onConnect: ({ connectionParams, extra: link }) => admit(link, connectionParams),
    onSubscribe: ({ extra: link }, _id, payload) => prepare(link, payload),
    // These are the arguments that `prepare` returned.
    execute: async args => await (args as Operation).execute(args),
    subscribe: async args => await (args as Operation).subscribe(args),
    onNext: (_context, _id, _payload, _args, { errors, ...result }) =>
      errors && ({ ...result, errors: shown(errors) } as FormattedExecutionResult),
    onError: (_context, _id, _payload, errors) => shown(errors),
  })

  async function admit(link: Link, params: Record<string, unknown> = {}): Promise<boolean> {
    const given = Object.entries(params).find(([name]) => name.toLowerCase() === 'authorization')
    if (given) link.authorization = String(given[1])
    const actor = await identify(link)
    // Who has an instance's own key may follow nothing, and must take no place of the key that rented it.
    if (!actor || isInstanceKey(actor)) return false
    const ofAccount = [...links].filter(({ owner }) => owner?.accountId === actor.accountId)
    const ofKey = ofAccount.filter(({ owner }) => owner?.apiKeyId === actor.apiKeyId)
    const full = ofKey.length >= linkLimits.linksPerKey ? 'key' : 'account'
    if (full === 'key' || ofAccount.length >= linkLimits.linksPerAccount)
      link.channel.close(CloseCode.TooManyInitialisationRequests, `This ${full} has too many WebSockets open`)
    link.owner = actor
    return true
  }

  /** Closes the link of whoever cannot be told who it is for now, and of nobody else. */
  async function identify({ authorization, channel }: Link): Promise<Actor | undefined> {
    try {
      return await bearerOf(authorization, services)
    } catch (error) {
      const known = explainFailure(error)
      if (!(known instanceof DomainError)) throw error
      channel.close(1013, known.message)
      return undefined
    }
  }

  async function prepare(
    link: Link,
    { query, variables, operationName }: SubscribePayload,
  ): Promise<Operation | readonly GraphQLError[]> {
    if (link.busy > linkLimits.operations) return [tooManyOperations()]
    const refusal = checkVariables(variables)
    if (refusal) return [refusal]
    const actor = await identify(link)
    if (!actor) {
      link.channel.close(CloseCode.Forbidden, 'Forbidden')
      return [new GraphQLError('Forbidden')]
    }
    const { requestId, log, gone } = link
    const context = { requestId, log, path: '/graphql', actor, services, prisma, gone: gone.signal }
    try {
      const { schema, parse, validate, contextFactory, execute, subscribe } = envelop(context)
      const document = parse(query)
      const errors = validate(schema, document)
      if (errors.length > 0) return errors
      if (!getOperationAST(document, operationName)) return [unknownOperation()]
      const contextValue = await contextFactory()
      return { schema, document, contextValue, variableValues: variables, operationName, execute, subscribe }
    } catch (error) {
      if (error instanceof GraphQLError) return [error]
      return [explainError(new GraphQLError('', { originalError: toError(error) }), context)]
    }
  }

  return {
    protocol: GRAPHQL_TRANSPORT_WS_PROTOCOL,
    open(channel, context) {
      const link: Link = { ...context, channel, busy: 0, leaving: false, gone: new AbortController() }
      links.add(link)
      const leaveIfIdle = () => {
        if (link.leaving && link.busy === 0) channel.close(1001, 'This gateway stops')
      }
      const onMessage: Channel['onMessage'] = read =>
        channel.onMessage(async text => {
          link.busy += 1
          await read(text).finally(() => {
            link.busy -= 1
            leaveIfIdle()
          })
        })
      const closed = server.opened({ ...channel, onMessage }, link)
      return {
        async closed(code, reason) {
          links.delete(link)
          link.gone.abort()
          await closed(code, reason)
        },
        leave() {
          link.leaving = true
          leaveIfIdle()
        },
      }
    },
  }
}

/** As it is said over HTTP. */
function unknownOperation(): GraphQLError {
  const message = 'Could not determine what operation to execute.'
  return new GraphQLError(message, { extensions: { code: 'OPERATION_RESOLUTION_FAILURE' } })
}

function tooManyOperations(): GraphQLError {
  const message = `This WebSocket has ${linkLimits.operations} operations under way, which is as many as it may have.`
  return new GraphQLError(message, { extensions: { code: 'TOO_MANY_STREAMS' } })
}

/** There are no statuses here. */
function shown(errors: readonly GraphQLError[]) {
  return errors.map(error => withoutStatus(error).toJSON())
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
