import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import type { NotebookProxy } from '../domain/instances/notebook.ts'
import type { Provider } from '../providers/provider.ts'
import type { NotebookServices } from '../services/instances/notebooks/services.ts'
import { admit } from './admission.ts'
import { carryRequest } from './carry.ts'
import { cookieNameOf } from './credentials.ts'
import { dial, unreachable } from './dial.ts'
import type { NotebookLimits } from './limits.ts'
import type { OpenRequest, OpenRequests } from './open.ts'
import { type Refusal, tooMany } from './refusal.ts'
import { carrySocket } from './upgrade.ts'

/** A request, or the handshake of a WebSocket: that has a socket of its own, and what the client sent after it. */
export type Incoming = {
  request: IncomingMessage
  response: ServerResponse
  upgraded: { socket: Socket; head: Buffer } | undefined
}
export type ExchangeDeps = {
  services: NotebookServices
  proxy: NotebookProxy
  provider: Pick<Provider, 'connect'>
  limits: NotebookLimits
  log: Logger
}
type Exchange = {
  open: OpenRequests
  place: OpenRequest
  /** Of the client. */
  address: string
  gone: AbortSignal
  onWrongToken(): void
  onAnswer(status: number): void
}

/** Lets the notebook answer a request. Returns why it does not; undefined once its answer has begun. */
export async function exchange(
  { request, response, upgraded }: Incoming,
  { services, proxy, provider, limits, log }: ExchangeDeps,
  { open, place, address, gone, onWrongToken, onAnswer }: Exchange,
): Promise<Refusal | undefined> {
  const admitted = await admit(request, { notebooks: services, proxy, onWrongToken })
  if ('status' in admitted) return admitted
  const { access, cookie } = admitted
  if (open.isFull(access)) return tooMany
  place.access = access
  const remote = await dial(access.container, { provider, machineMs: limits.machineMs, log }, gone)
  if ('status' in remote) return remote
  const client = { address, protocol: proxy.protocol, cookieName: cookieNameOf(proxy) }
  const carried = { request, response, remote, client, cookie, onAnswer }
  const isAnswered = upgraded
    ? await carrySocket({ ...carried, ...upgraded, farewellMs: limits.farewellMs })
    : await carryRequest(carried)
  return isAnswered ? undefined : badAnswer
}

const badAnswer = unreachable(502, 'The notebook gave no valid answer. Try again in a moment.')
