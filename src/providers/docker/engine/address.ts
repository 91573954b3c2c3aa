import { Agent as HttpAgent, type RequestOptions, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { Engine } from '../../../domain/machines/engines.ts'
import { MachineUnreachable } from '../../provider.ts'

/** How to send a request to an engine. */
export type Address = {
  request: typeof requestHttp
  options: RequestOptions
  /** Keeps connections for the next request. Streams have connections of their own. */
  agent: HttpAgent
}

const agentOptions = { keepAlive: true, maxSockets: 32 }

/**
 * An engine's API is root access to its host. So a connection over TCP needs TLS, and both sides show certificates. No
 * Host header is made up: the certificate is checked against it.
 */
export function addressOf({ url, tls }: Pick<Engine, 'url' | 'tls'>): Address {
  const { protocol, hostname, port, pathname } = new URL(url)
  if (protocol === 'unix:') {
    const agent = new HttpAgent(agentOptions)
    return { request: requestHttp, options: { socketPath: decodeURIComponent(pathname), host: 'localhost' }, agent }
  }
  if (protocol !== 'tcp:' || !tls)
    throw new MachineUnreachable('An engine is reached at unix:///path, or at tcp://host:port with TLS.')
  const host = hostname.replace(/^\[|\]$/g, '')
  const options = { host, port: Number(port || 2376), ca: tls.ca, cert: tls.cert, key: tls.key }
  return { request: requestHttps as typeof requestHttp, options, agent: new HttpsAgent(agentOptions) }
}
