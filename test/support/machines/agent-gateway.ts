// A gateway that serves only agents, and its provider. Several can share a database.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import pino from 'pino'
import { createAgents } from '../../../src/agents/agents.ts'
import { openDatabase } from '../../../src/database/client.ts'
import { createAgentSockets } from '../../../src/http/agents/sockets.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { agentServices } from '../../../src/services/machines/agents/services.ts'
import { engineServices } from '../../../src/services/machines/engines/engines.ts'
import { createOperations } from '../../../src/services/operations.ts'
import { createSecrets } from '../../../src/services/secrets.ts'

export type AgentGateway = Awaited<ReturnType<typeof openAgentGateway>>

type AgentGatewayOptions = { protocols?: readonly number[]; readToolbox?: () => Promise<Buffer>; port?: number }

async function noToolbox(): Promise<Buffer> {
  throw new Error('There is no toolbox.')
}

const wakeAll = new Set<() => void>()

export async function openAgentGateway(
  url: string,
  { protocols, readToolbox = noToolbox, port = 0 }: AgentGatewayOptions = {},
) {
  const notify = () => {
    for (const wake of wakeAll) wake()
  }
  const database = openDatabase({ url, poolSize: 3, onIdleError: () => {}, notify })
  const secrets = createSecrets('a secret of tests')
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const agents = createAgents({
    services: agentServices({ database, secrets, gatewayId: randomUUID() }),
    engines: engineServices({ database, secrets, log }),
    readToolbox,
    log,
    ...(protocols && { protocols }),
  })
  wakeAll.add(agents.wake)
  const sockets = createAgentSockets(agents.sockets, log)
  const answer = (request: Request) => agents.http(request, { requestId: '', path: new URL(request.url).pathname, log })
  const server = createHttpServer(answer, { upgrade: sockets.upgrade }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  agents.start()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
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
