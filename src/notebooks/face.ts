// The notebook face: an HTTP and WebSocket proxy to the notebooks of instances. One port serves all of them, each under
// a host name of its own.

import { ServerResponse } from 'node:http'
import { createAddressLimits, networkOf } from '../http/address-limits.ts'
import { noProxies, type TrustedProxies } from '../http/client.ts'
import type { Metric } from '../http/metrics/metrics.ts'
import { type ExchangeDeps, exchange, type Incoming } from './exchange.ts'
import { notebookLimits } from './limits.ts'
import { createNotebookMetrics, type RequestOutcome } from './metrics.ts'
import { type OpenRequest, watchOpen } from './open.ts'
import { guessing, type Refusal, sendRefusal, tooMany } from './refusal.ts'
import type { NotebookHandlers } from './server.ts'

export type NotebookFace = NotebookHandlers & {
  metrics(): Metric[]
  /** Ends all WebSockets, and refuses new ones. Requests may finish. */
  stop(): void
}
type FaceOptions = Omit<ExchangeDeps, 'limits'> & { limits?: ExchangeDeps['limits']; proxies?: TrustedProxies }

export function createNotebookFace({
  limits = notebookLimits,
  proxies = noProxies,
  ...options
}: FaceOptions): NotebookFace {
  const deps = { ...options, limits }
  const { services, log } = deps
  const addresses = createAddressLimits(limits)
  const open = watchOpen({ notebooks: services, limits, log })
  const metrics = createNotebookMetrics(open.count)
  let isStopped = false

  function serve(incoming: Incoming): void {
    const { request, response } = incoming
    const { address } = proxies.clientOf(request)
    const network = networkOf(address)
    const limited = open.count() >= limits.connections ? 'connections' : addresses.admit(network)
    if (!limited) return void answer(incoming, address, network)
    metrics.count('limited')
    sendRefusal(request, response, limited === 'failures' ? guessing : tooMany)
  }

  async function answer(incoming: Incoming, address: string, network: string): Promise<void> {
    const { request, response } = incoming
    const gone = new AbortController()
    const place = takePlace(incoming, { address, network, gone })
    const onAnswer = (status: number) => Object.assign(place, { status, outcome: 'answered' })
    const onWrongToken = () => {
      if (addresses.fail(network))
        log.warn({ address: network }, 'Too many wrong tokens of notebooks. The address waits.')
    }
    const refusal = await exchange(incoming, deps, {
      ...{ open, place, address, gone: gone.signal, onWrongToken, onAnswer },
    }).catch((error: unknown): Refusal => {
      log.error({ err: error }, 'A request to a notebook failed.')
      return failure
    })
    if (!refusal || gone.signal.aborted) return
    Object.assign(place, { status: refusal.status, outcome: refusal.outcome })
    if (response.headersSent) request.socket.destroy()
    else sendRefusal(request, response, refusal)
  }

  type Client = { address: string; network: string; gone: AbortController }

  /** Counts the request until it is over, and then logs how it went. */
  function takePlace({ request, response, upgraded }: Incoming, { address, network, gone }: Client): Place {
    const start = performance.now()
    const websocket = upgraded !== undefined
    const place: Place = { isSocket: websocket, outcome: 'unfinished', end: () => void request.socket.destroy() }
    open.add(place)
    const leave = () => {
      gone.abort()
      open.remove(place)
      addresses.release(network)
      const { outcome, status, access } = place
      metrics.count(outcome)
      const instanceId = access && String(access.container.instanceId)
      const ms = Math.round(performance.now() - start)
      log.info({ instanceId, address, method: request.method, websocket, status, outcome, ms }, 'notebook')
    }
    if (upgraded) upgraded.socket.once('close', leave)
    else response.once('close', leave)
    return place
  }

  return {
    serve: (request, response) => serve({ request, response, upgraded: undefined }),
    upgrade(request, socket, head) {
      socket.on('error', () => socket.destroy())
      if (isStopped) return void socket.destroy()
      const response = new ServerResponse(request)
      response.shouldKeepAlive = false
      try {
        response.assignSocket(socket)
      } catch {
        // An earlier request on this connection has no answer yet. No browser sends a handshake then.
        return void socket.destroy()
      }
      response.once('finish', () => socket.destroySoon())
      serve({ request, response, upgraded: { socket, head } })
    },
    metrics: metrics.read,
    stop() {
      isStopped = true
      open.stop()
    },
  }
}

type Place = OpenRequest & { outcome: RequestOutcome; status?: number }

const failure: Refusal = {
  status: 503,
  message: 'The gateway could not check this request. Try again in a moment.',
  outcome: 'unreachable',
}
