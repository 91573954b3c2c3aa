// The toolbox that hosts get from their gateway.

import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type AgentGateway, openAgentGateway } from '../../support/machines/agent-gateway.ts'
import { newHostKey } from '../../support/machines/hosts.ts'
import { measureMemory } from '../../support/memory.ts'

const megabytes = 8
let testDatabase: TestDatabase
let gateway: AgentGateway
let key: string

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = await openAgentGateway(testDatabase.url, {
    readToolbox: async () => Buffer.alloc(megabytes * 1_000_000, 'toolbox'),
  })
  await listMachines(gateway.operations, [{}])
  key = await newHostKey(gateway.operations, gateway.url, 1)
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

/** Asks, and reads no more than the head of the answer. */
async function askAndWait() {
  const { hostname, port } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET /host/toolbox HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`)
  await once(socket, 'readable')
  return socket
}

it('is in memory once, however many hosts do not read it', async () => {
  const before = measureMemory()
  const sockets = await Promise.all(Array.from({ length: 30 }, askAndWait))
  expect(measureMemory() - before).toBeLessThan(3 * megabytes * 1_000_000)
  for (const socket of sockets) socket.destroy()
})

it('arrives whole', async () => {
  const response = await fetch(`${gateway.url}/host/toolbox`, { headers: { authorization: `Bearer ${key}` } })
  expect(response.headers.get('content-length')).toBe(String(megabytes * 1_000_000))
  expect((await response.arrayBuffer()).byteLength).toBe(megabytes * 1_000_000)
})
