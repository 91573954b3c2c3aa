// A client of the proxy that chooses its address.

import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'

export type Ask = {
  path: string
  method?: string
  headers?: Record<string, string>
  body?: string | Buffer | undefined
  /** The address of the client: any of 127.0.0.0/8. By default one that is not the proxy's. */
  from?: string
  /** By default that of the gateways. */
  host?: string
}
export type Answer = { status: number; headers: IncomingHttpHeaders; text: string }

export type ProxyClient = ReturnType<typeof createProxyClient>

/** Keeps its connections, as browsers do. */
export function createProxyClient({ port, ca }: { port: number; ca: string }) {
  const agent = new Agent({ keepAlive: true, ca })
  return {
    async ask({
      path,
      method = 'GET',
      headers = {},
      body,
      from = '127.0.0.2',
      host = 'localhost',
    }: Ask): Promise<Answer> {
      const outgoing = request({
        ...{ host: '127.0.0.1', port, servername: host, localAddress: from, agent, method, path },
        headers: { host: `${host}:${port}`, 'content-type': 'application/json', ...headers },
      })
      outgoing.end(body)
      const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
      const chunks: Buffer[] = []
      for await (const chunk of answer) chunks.push(chunk)
      return { status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() }
    },
    close: () => agent.destroy(),
  }
}
