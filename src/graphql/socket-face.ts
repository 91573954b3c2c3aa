// GraphQL over a WebSocket, in the protocol `graphql-transport-ws`. What is asked there passes what a request over HTTP
// passes: the same plugins, the same limits, and the key anew with every operation.

import { type ExecutionArgs, type FormattedExecutionResult, GraphQLError, getOperationAST } from 'graphql'
import { CloseCode, GRAPHQL_TRANSPORT_WS_PROTOCOL, makeServer, type SubscribePayload } from 'graphql-ws'
import type { YogaServerInstance } from 'graphql-yoga'
import { identifyBearer } from '../auth/authenticate.ts'
import type { PrismaClient } from '../database/generated/client.ts'
import { type Actor, isInstanceKey } from '../domain/actor.ts'
import { DomainError } from '../domain/errors.ts'
import type { Channel, SocketContext, SocketFace } from '../http/sockets.ts'
import { translateDatabaseError } from '../services/database-errors.ts'
import type { Services } from '../services/services.ts'
import type { Context } from './context.ts'
import { toClientError, withoutStatus } from './errors/errors.ts'
import { checkVariables } from './plugins.ts'

export const connectionLimits = { initMs: 3_000, operations: 64, connectionsPerKey: 32, connectionsPerAccount: 128 }

/** A socket, from its opening to its end. */
type Connection = SocketContext & {
  channel: Channel
  /** Messages that are not answered to their end, a subscription's among them. */
  openMessages: number
  isClosing: boolean
  disconnected: AbortController
  /** Who opened it. */
  owner?: Actor
}

type Envelop = YogaServerInstance<Context, object>['getEnveloped']
type Enveloped = ReturnType<Envelop>
/** What the server asks to be executed, with what executes it. */
type PreparedOperation = ExecutionArgs & Pick<Enveloped, 'execute' | 'subscribe'>

export type SocketFaceDeps = { envelop: Envelop; services: Services; prisma: PrismaClient }

export function createSocketFace({ envelop, services, prisma }: SocketFaceDeps): SocketFace {
  const connections = new Set<Connection>()
  const server = makeServer<Record<string, unknown>, Connection>({
    connectionInitWaitTimeout: connectionLimits.initMs,
    onConnect: ({ connectionParams, extra: link }) => acceptConnection(link, connectionParams),
    onSubscribe: ({ extra: link }, _id, payload) => prepareOperation(link, payload),
    // These are the arguments that `prepare` returned.
    execute: async args => await (args as PreparedOperation).execute(args),
    subscribe: async args => await (args as PreparedOperation).subscribe(args),
    onNext: (_context, _id, _payload, _args, { errors, ...result }) =>
      errors && ({ ...result, errors: formatErrors(errors) } as FormattedExecutionResult),
    onError: (_context, _id, _payload, errors) => formatErrors(errors),
  })

  async function acceptConnection(link: Connection, params: Record<string, unknown> = {}): Promise<boolean> {
    const given = Object.entries(params).find(([name]) => name.toLowerCase() === 'authorization')
    if (given) link.authorization = String(given[1])
    const actor = await authenticateConnection(link)
    // Who has an instance's own key may follow nothing, and must take no place of the key that rented it.
    if (!actor || isInstanceKey(actor)) return false
    const ofAccount = [...connections].filter(({ owner }) => owner?.accountId === actor.accountId)
    const ofKey = ofAccount.filter(({ owner }) => owner?.apiKeyId === actor.apiKeyId)
    const full = ofKey.length >= connectionLimits.connectionsPerKey ? 'key' : 'account'
    if (full === 'key' || ofAccount.length >= connectionLimits.connectionsPerAccount)
      link.channel.close(CloseCode.TooManyInitialisationRequests, `This ${full} has too many WebSockets open`)
    link.owner = actor
    return true
  }

  /** Closes the link of whoever cannot be told who it is for now, and of nobody else. */
  async function authenticateConnection({ authorization, channel }: Connection): Promise<Actor | undefined> {
    try {
      return await identifyBearer(authorization, services)
    } catch (error) {
      const known = translateDatabaseError(error)
      if (!(known instanceof DomainError)) throw error
      channel.close(1013, known.message)
      return undefined
    }
  }

  async function prepareOperation(
    link: Connection,
    { query, variables, operationName }: SubscribePayload,
  ): Promise<PreparedOperation | readonly GraphQLError[]> {
    if (link.openMessages > connectionLimits.operations) return [tooManyOperations()]
    const refusal = checkVariables(variables)
    if (refusal) return [refusal]
    const actor = await authenticateConnection(link)
    if (!actor) {
      link.channel.close(CloseCode.Forbidden, 'Forbidden')
      return [new GraphQLError('Forbidden')]
    }
    const { requestId, log, disconnected } = link
    const context = { requestId, log, path: '/graphql', actor, services, prisma, disconnected: disconnected.signal }
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
      return [toClientError(new GraphQLError('', { originalError: toError(error) }), context)]
    }
  }

  return {
    protocol: GRAPHQL_TRANSPORT_WS_PROTOCOL,
    open(channel, context) {
      const link: Connection = {
        ...context,
        channel,
        openMessages: 0,
        isClosing: false,
        disconnected: new AbortController(),
      }
      connections.add(link)
      const closeIfIdle = () => {
        if (link.isClosing && link.openMessages === 0) channel.close(1001, 'This gateway stops')
      }
      const onMessage: Channel['onMessage'] = read =>
        channel.onMessage(async text => {
          link.openMessages += 1
          await read(text).finally(() => {
            link.openMessages -= 1
            closeIfIdle()
          })
        })
      const closed = server.opened({ ...channel, onMessage }, link)
      return {
        async onClose(code, reason) {
          connections.delete(link)
          link.disconnected.abort()
          await closed(code, reason)
        },
        closeWhenIdle() {
          link.isClosing = true
          closeIfIdle()
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
  const message = `This WebSocket has ${connectionLimits.operations} operations under way, which is as many as it may have.`
  return new GraphQLError(message, { extensions: { code: 'TOO_MANY_STREAMS' } })
}

/** There are no statuses here. */
function formatErrors(errors: readonly GraphQLError[]) {
  return errors.map(error => withoutStatus(error).toJSON())
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
