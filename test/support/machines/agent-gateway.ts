// A gateway that serves only agents, and its provider. Several can share a database.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import pino from 'pino'
import { createAgents } from '../../../src/agents/agents.ts'
import { openDatabase } from '../../../src/database/client.ts'
import { createAgentSockets } from '../../../src/http/agents/sockets.ts'
import { unlimitedMeters } from '../../../src/http/limits/meter.ts'
import { createHttpServer, type Fetch } from '../../../src/http/server.ts'
import { agentServices } from '../../../src/services/machines/agents/services.ts'
import { engineServices } from '../../../src/services/machines/engines/engines.ts'
import { createOperations } from '../../../src/services/operations.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { urlAs } from '../database/roles.ts'

export type AgentGateway = Awaited<ReturnType<typeof openAgentGateway>>

type AgentGatewayOptions = {
  protocols?: readonly number[]
  readToolbox?: () => Promise<Buffer>
  port?: number
  host?: string
  /** Whether it tells hosts where they reach it. A text is told in place of its real address. */
  address?: boolean | string
  timing?: Parameters<typeof createAgents>[0]['timing']
}

async function noToolbox(): Promise<Buffer> {
  throw new Error('There is no toolbox.')
}

const wakeAll = new Set<() => void>()

export async function openAgentGateway(databaseUrl: string, options: AgentGatewayOptions = {}) {
  const { protocols, readToolbox = noToolbox, port = 0, host = '127.0.0.1', address = false, timing } = options
  const notify = () => {
    for (const wake of wakeAll) wake()
  }
  const database = openDatabase({ url: urlAs('app', databaseUrl), poolSize: 3, onIdleError: () => {}, notify })
  const secrets = createSecrets('a secret of tests')
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const answer: Fetch = (request, { client = { address: '' } } = {}) =>
    agents.http(request, {
      requestId: '',
      path: new URL(request.url).pathname,
      log,
      client,
      meter: unlimitedMeters(client),
    })
  const server = createHttpServer(answer, { upgrade: (...upgrade) => sockets.upgrade(...upgrade) })
  await once(server.listen(port, host), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const gatewayId = randomUUID()
  const agents = createAgents({
    services: agentServices({ database, secrets, gatewayId }),
    ...{ gatewayId, url: address === true ? url : address || null },
    engines: engineServices({ database, secrets, log }),
    readToolbox,
    log,
    ...(protocols && { protocols }),
    ...(timing && { timing }),
  })
  wakeAll.add(agents.wake)
  const sockets = createAgentSockets(agents.sockets, log)
  agents.start()
  return {
    url,
    gatewayId,
    database,
    operations: createOperations({ database }),
    provider: agents.provider,
    agents,
    lines,
    async close(): Promise<void> {
      wakeAll.delete(agents.wake)
      sockets.stop()
      await agents.stop()
      server.close()
      server.closeAllConnections()
      await database.close()
    },
  }
}
