// GraphQL over a WebSocket, in the protocol `graphql-transport-ws`. Each operation passes the same plugins and limits as a
// request over HTTP, and authenticates its key again.

import type { FormattedExecutionResult, GraphQLError } from 'graphql'
import { CloseCode, GRAPHQL_TRANSPORT_WS_PROTOCOL, makeServer, type SubscribePayload } from 'graphql-ws'
import { identifyBearer } from '../../auth/authenticate.ts'
import { invalidKey, invalidKeyMessage } from '../../domain/accounts/invalid-key.ts'
import { type Actor, isInstanceKey } from '../../domain/actor.ts'
import { DomainError, overloaded } from '../../domain/errors.ts'
import { printTypedIds } from '../../domain/messages.ts'
import type { Admission } from '../../http/admission/admission.ts'
import { parseBearer } from '../../http/bearer.ts'
import type { CreateMeter, Meter } from '../../http/limits/meter.ts'
import type { Channel, SocketContext, SocketFace } from '../../http/sockets.ts'
import { translateDatabaseError } from '../../services/database-errors.ts'
import type { Services } from '../../services/services.ts'
import { type Owner, type Place, workFor } from '../../turns/owners.ts'
import { refusalError, withoutStatus } from '../errors/errors.ts'
import { completeError } from '../errors/face-errors.ts'
import { subscribe } from '../subscribe.ts'
import { type Envelop, mayMutate, type PreparedOperation, prepareOperation } from './operation.ts'

export const connectionLimits = { initMs: 3_000, operations: 64, connectionsPerKey: 32, connectionsPerAccount: 128 }

/** An open WebSocket. */
type Connection = SocketContext & {
  channel: Channel
  /** Messages that are still being answered, including running subscriptions. */
  openMessages: number
  isClosing: boolean
  disconnected: AbortController
  /** The actor that the connection was accepted for. Undefined before that. */
  owner?: Actor
}

type SocketFaceDeps = { envelop: Envelop; services: Services; admission: Admission; meterOf: CreateMeter }
/** An operation that holds a place until it is executed, or its subscription has begun. */
type AdmittedOperation = PreparedOperation & { place: Place; caller: Owner }

export function createSocketFace({ envelop, services, admission, meterOf }: SocketFaceDeps): SocketFace {
  const connections = new Set<Connection>()
  const server = makeServer<Record<string, unknown>, Connection>({
    connectionInitWaitTimeout: connectionLimits.initMs,
    onConnect: ({ connectionParams, extra: connection }) => acceptConnection(connection, connectionParams),
    onSubscribe: ({ extra: connection }, _id, payload) =>
      refuseWithoutPoints(() => admitOperation(connection, payload)),
    // `args` is the value that `admitOperation` returned.
    execute: async args => {
      const { execute, place, caller } = args as AdmittedOperation
      try {
        // A refused operation has its result at once, and no promise.
        return await workFor(caller, () => execute(args), place)
      } finally {
        place.leave()
      }
    },
    subscribe: async args => {
      const { place, caller } = args as AdmittedOperation
      return await workFor(caller, () => subscribe(args), place).finally(place.leave)
    },
    onNext: (_context, _id, _payload, _args, { errors, ...result }) =>
      errors && ({ ...result, errors: formatErrors(errors) } as FormattedExecutionResult),
    onError: (_context, _id, _payload, errors) => formatErrors(errors),
  })

  async function acceptConnection(connection: Connection, params: Record<string, unknown> = {}): Promise<boolean> {
    const header = Object.entries(params).find(([name]) => name.toLowerCase() === 'authorization')
    if (header) connection.authorization = String(header[1])
    const meter = meterOf(connection.client)
    const actor = await authenticateConnection(connection, { fresh: false, meter })
    // An instance's own key may not subscribe, and must not use up connections of the key that rented it.
    if (!actor || isInstanceKey(actor)) {
      connection.channel.close(CloseCode.Forbidden, describeRefusedKey(connection, actor))
      return false
    }
    const ofAccount = [...connections].filter(({ owner }) => owner?.accountId === actor.accountId)
    const ofKey = ofAccount.filter(({ owner }) => owner?.apiKeyId === actor.apiKeyId)
    const fullHolder = ofKey.length >= connectionLimits.connectionsPerKey ? 'key' : 'account'
    if (fullHolder === 'key' || ofAccount.length >= connectionLimits.connectionsPerAccount)
      connection.channel.close(
        CloseCode.TooManyInitialisationRequests,
        `This ${fullHolder} has too many WebSockets open`,
      )
    connection.owner = actor
    connection.channel.accept()
    return true
  }

  /**
   * The actor, or undefined for an invalid key. If the key cannot be checked now, closes with 1013: try again later. Closes with
   * 4403 if an operator has disabled the account. Throws
   * RATE_LIMITED if an operation of an open connection has too few points.
   */
  async function authenticateConnection(
    { authorization, channel, owner }: Connection,
    how: { fresh: boolean; meter: Meter },
  ): Promise<Actor | undefined> {
    try {
      const actor = await identifyBearer(authorization, services, how)
      if (actor) how.meter.takeRequest(actor)
      return actor
    } catch (error) {
      const known = translateDatabaseError(error)
      if (!(known instanceof DomainError) || (owner && known.code === 'RATE_LIMITED')) throw known
      const message = printTypedIds(known.messageWithIds)
      if (known.code === 'ACCOUNT_DISABLED') channel.close(CloseCode.Forbidden, closeReasonOf(message))
      else channel.close(1013, message)
      return undefined
    }
  }

  async function admitOperation(
    connection: Connection,
    params: SubscribePayload,
  ): Promise<AdmittedOperation | readonly GraphQLError[]> {
    const caller = connection.owner?.accountId ?? connection.requestId
    const place = await admission.enter(caller)
    if (!place) return [withoutStatus(refusalError(overloaded()))]
    let operation: PreparedOperation | readonly GraphQLError[] = []
    try {
      operation = await workFor(caller, () => authenticateOperation(connection, params))
      return 'document' in operation ? { ...operation, place, caller } : operation
    } finally {
      // Nothing executes it.
      if (!('document' in operation)) place.leave()
    }
  }

  async function authenticateOperation(
    connection: Connection,
    params: SubscribePayload,
  ): Promise<PreparedOperation | readonly GraphQLError[]> {
    if (connection.openMessages > connectionLimits.operations) return [tooManyOperations()]
    const meter = meterOf(connection.client)
    const actor = await authenticateConnection(connection, { fresh: mayMutate(params), meter })
    if (!actor) {
      connection.channel.close(CloseCode.Forbidden, invalidKeyMessage)
      return [refusalError(invalidKey())]
    }
    const { requestId, log, client, disconnected } = connection
    const context = {
      requestId,
      log,
      client,
      meter,
      path: '/graphql',
      actor,
      services,
      disconnected: disconnected.signal,
    }
    return await prepareOperation(envelop, context, params)
  }

  return {
    protocol: GRAPHQL_TRANSPORT_WS_PROTOCOL,
    open(channel, context) {
      const connection: Connection = {
        ...context,
        channel,
        openMessages: 0,
        isClosing: false,
        disconnected: new AbortController(),
      }
      connections.add(connection)
      const closeIfIdle = () => {
        if (connection.isClosing && connection.openMessages === 0) channel.close(1001, 'This gateway is stopping')
      }
      const onMessage: Channel['onMessage'] = read =>
        channel.onMessage(async text => {
          connection.openMessages += 1
          await read(text).finally(() => {
            connection.openMessages -= 1
            closeIfIdle()
          })
        })
      const closed = server.opened({ ...channel, onMessage }, connection)
      return {
        async onClose(code, reason) {
          connections.delete(connection)
          connection.disconnected.abort()
          await closed(code, reason)
        },
        closeWhenIdle() {
          connection.isClosing = true
          closeIfIdle()
        },
      }
    },
  }
}

function describeRefusedKey({ authorization }: Connection, actor: Actor | undefined): string {
  if (actor) return 'The key of an instance can open no WebSocket.'
  if (parseBearer(authorization) !== undefined) return invalidKeyMessage
  return 'An API key is required: send {"authorization": "Bearer KEY"} as connectionParams.'
}

async function refuseWithoutPoints<Prepared>(prepare: () => Promise<Prepared>): Promise<Prepared | GraphQLError[]> {
  try {
    return await prepare()
  } catch (error) {
    if (error instanceof DomainError && error.code === 'RATE_LIMITED') return [refusalError(error)]
    throw error
  }
}

function tooManyOperations(): GraphQLError {
  const message = `This WebSocket has ${connectionLimits.operations} operations running, the maximum. Complete one before you start another.`
  return refusalError(new DomainError('TOO_MANY_STREAMS', message))
}

/** A WebSocket closes with a reason of at most 123 bytes. */
function closeReasonOf(message: string): string {
  if (Buffer.byteLength(message) <= 123) return message
  const cut = Buffer.from(message).subarray(0, 120).toString()
  // The last character may be cut in two.
  return `${cut.replace(/\ufffd$/, '')}…`
}

/** A WebSocket message has no HTTP status. */
function formatErrors(errors: readonly GraphQLError[]) {
  return errors.map(error => completeError(withoutStatus(error)).toJSON())
}
