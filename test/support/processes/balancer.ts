import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { GatewayProcess } from './programs.ts'

export type BalancerRequest = { method: string; path: string; headers: Record<string, string>; body?: string }
export type BalancerAnswer = { status: number; text: string }
type Backend = { url: string; agent: Agent; isReady: boolean }

/**
 * A load balancer: it sends requests to ready gateways in turn, and keeps connections alive. It polls `/ready` of each
 * gateway every 200 ms, and never retries a request.
 */
export function createBalancer(pollMs = 200) {
  const backends = new Map<string, Backend>()
  const polling = new AbortController()
  let turn = 0

  async function send(
    { url, agent }: Backend,
    { method, path, headers, body }: BalancerRequest,
  ): Promise<BalancerAnswer> {
    const outgoing = request(`${url}${path}`, { method, headers, agent })
    outgoing.end(body)
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    return { status: incoming.statusCode ?? 0, text: await text(incoming) }
  }

  async function poll(backend: Backend): Promise<void> {
    while (!polling.signal.aborted && backends.has(backend.url)) {
      // Each probe opens a new connection.
      const probe = { ...backend, agent: new Agent() }
      const answer = await send(probe, { method: 'GET', path: '/ready', headers: {} }).catch(() => undefined)
      backend.isReady = answer?.status === 200
      await sleep(pollMs)
    }
    backend.agent.destroy()
  }

  return {
    add({ url }: GatewayProcess): void {
      const backend = { url, agent: new Agent({ keepAlive: true }), isReady: false }
      backends.set(url, backend)
      void poll(backend)
    },
    remove: ({ url }: GatewayProcess): boolean => backends.delete(url),
    readyUrls: (): string[] => [...backends.values()].filter(({ isReady }) => isReady).map(({ url }) => url),
    /** Rejects if the connection is refused or reset. */
    send(call: BalancerRequest): Promise<BalancerAnswer> {
      const ready = [...backends.values()].filter(({ isReady }) => isReady)
      turn += 1
      const backend = ready[turn % ready.length]
      return backend ? send(backend, call) : Promise.reject(new Error('No gateway is ready.'))
    },
    close: () => polling.abort(),
  }
}
