// Notebooks on a machine that only an agent reaches, over a real socket.

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { Provider } from '../../../src/providers/provider.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type AgentGateway, openAgentGateway } from '../../support/machines/agent-gateway.ts'
import { newHostKey, startAgent, type TestAgent } from '../../support/machines/hosts.ts'
import { type NotebookService, serveNotebooks } from '../../support/notebooks/market.ts'
import { big, startNotebook } from '../../support/notebooks/notebook.ts'
import { newRunningInstance } from '../../support/ssh/instances.ts'

let database: TestDatabase
let gateway: Gateway
let agents: AgentGateway
let agent: TestAgent
let notebook: Awaited<ReturnType<typeof startNotebook>>
let service: NotebookService
let headers: { host: string; authorization: string }

beforeAll(async () => {
  database = await createDatabase()
  gateway = openGateway({ url: database.url, delayFactor: 0 })
  notebook = await startNotebook()
  agents = await openAgentGateway(database.url)
  await listMachines(gateway.operations, [{}])
  const key = await newHostKey(agents.operations, agents.url, 1)
  agent = startAgent({ gateway: agents.url, key, provider: notebook.provider as unknown as Provider })
  while (agent.connections() === 0) await sleep(10)
  const connect: Provider['connect'] = (container, port, signal) =>
    agents.provider.connect({ ...container, machineId: 1 }, port, signal)
  service = await serveNotebooks({ gateway, provider: { connect } })
  const id = await newRunningInstance(gateway, [], { mode: 'jupyterProxy' })
  const token = (await service.services.find(id))?.token
  headers = { host: `ins-${id}.notebooks.example.com`, authorization: `token ${token}` }
})

afterAll(async () => {
  service.close()
  await agent.stop()
  await agents.close()
  notebook.close()
  await gateway.close()
  await database.drop()
})

it('carries 20 MB to a notebook and back', async () => {
  const { body } = await service.ask({ ...headers, path: '/echo', method: 'POST', headers, body: big })
  expect(body.equals(big)).toBe(true)
})

it('carries a WebSocket, and ends it on the host when the client is gone', async () => {
  const socket = new WebSocket(`ws://127.0.0.1:${service.port}/socket`, { headers })
  await once(socket, 'open')
  socket.send(big)
  const [echoed] = await once(socket, 'message')
  expect(Buffer.compare(echoed, big)).toBe(0)
  socket.terminate()
  await expect.poll(() => notebook.seen.cutOff).toBe(1)
})

it('says that the machine does not answer once the host is gone', async () => {
  await agent.stop()
  const gone = async () => (await service.ask({ ...headers, headers })).status
  await expect.poll(gone, { timeout: 10_000 }).toBe(504)
})
