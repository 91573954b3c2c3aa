// Sends mutations over WebSockets, one for each key and gateway, as graphql-ws clients do.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { Answer, SendMutation } from '../instances/renters.ts'

const answerTimeoutMs = 20_000

export function createWebSocketSender() {
  const clients = new Map<string, Client>()
  /** How often a socket was closed with an operation under way, by its code. */
  const closes = new Map<number, number>()

  function clientOf(url: string, apiKey: string): Client {
    const name = `${url} ${apiKey}`
    const existing = clients.get(name)
    if (existing) return existing
    const connectionParams = { authorization: `Bearer ${apiKey}` }
    const address = `${url.replace('http', 'ws')}/graphql`
    const client = createClient({ url: address, webSocketImpl: WebSocket, connectionParams, retryAttempts: 0 })
    clients.set(name, client)
    return client
  }

  const send: SendMutation = async (url, apiKey, query, input) => {
    const results = clientOf(url, apiKey).iterate({ query, variables: { input } })
    try {
      const late = sleep(answerTimeoutMs, undefined, { ref: false })
      const result = await Promise.race([results.next(), late])
      return result?.value as Answer | undefined
    } catch (error) {
      const { code } = error as { code?: number }
      if (code !== undefined) closes.set(code, (closes.get(code) ?? 0) + 1)
      throw error
    } finally {
      await results.return?.()
    }
  }

  return {
    send,
    closes,
    dispose: () => Promise.allSettled([...clients.values()].map(client => client.dispose())),
  }
}
