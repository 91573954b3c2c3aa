import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request as openRequest } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { NotebookProxy } from '../../../src/domain/instances/notebook.ts'
import { noProxies, type TrustedProxies } from '../../../src/http/client.ts'
import { createNotebookFace } from '../../../src/notebooks/face.ts'
import { notebookLimits } from '../../../src/notebooks/limits.ts'
import { createNotebookServer } from '../../../src/notebooks/server.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { createNotebookServices } from '../../../src/services/instances/notebooks/services.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import type { Gateway } from '../gateways.ts'

export const proxy: NotebookProxy = { protocol: 'http', host: 'notebooks.example.com' }

type Options = {
  gateway: Gateway
  provider: Pick<Provider, 'connect'>
  limits?: Partial<typeof notebookLimits>
  proxy?: NotebookProxy
  proxies?: TrustedProxies
}
export type Ask = {
  host: string
  path?: string
  method?: string
  headers?: Record<string, string | string[]>
  body?: Buffer | string
}
export type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer; text: string }

/** Serves the notebooks of a gateway on a free port of this machine. */
export async function serveNotebooks({ gateway, provider, limits, proxy: at = proxy, proxies = noProxies }: Options) {
  const secrets = createSecrets('a secret of tests')
  const services = createNotebookServices({ database: gateway.database, secrets, log: gateway.log })
  const all = { ...notebookLimits, ...limits }
  const face = createNotebookFace({ services, proxy: at, proxies, provider, log: gateway.log, limits: all })
  const { server, serveWith } = createNotebookServer(proxies, all)
  serveWith(face)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  const open = ({ host, path = '/', method = 'GET', headers = {} }: Ask) =>
    openRequest({ port, host: '127.0.0.1', path, method, headers: { host, ...headers }, agent: false })

  return {
    port,
    face,
    services,
    server,
    open,
    async ask(asked: Ask): Promise<Answer> {
      const outgoing = open(asked)
      outgoing.end(asked.body)
      const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
      const chunks: Buffer[] = []
      for await (const chunk of answer) chunks.push(chunk)
      const body = Buffer.concat(chunks)
      return { status: answer.statusCode ?? 0, headers: answer.headers, body, text: body.toString() }
    },
    /** Sends bytes as they are. Returns all that comes back until the connection ends. */
    async send(text: string): Promise<string> {
      const socket = connect({ port, host: '127.0.0.1' })
      socket.on('error', () => {})
      socket.write(text, 'latin1')
      let answer = ''
      socket.setEncoding('latin1').on('data', part => {
        answer += part
      })
      await once(socket, 'close')
      return answer
    },
    close() {
      face.stop()
      server.closeAllConnections()
      server.close()
    },
  }
}

export type NotebookService = Awaited<ReturnType<typeof serveNotebooks>>
