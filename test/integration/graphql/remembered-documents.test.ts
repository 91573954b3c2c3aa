// Documents are remembered by their texts. That must not fill the memory.

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createHttpServer } from '../../../src/http/server.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { measureMemory } from '../../support/memory.ts'

let app: TestApp
let server: ReturnType<typeof createHttpServer>
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  server = createHttpServer(app.fetch, { plain: app.plain }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})

afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await app.close()
})

async function send(path: string, query: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  return await response.text()
}

it.each([
  ['long documents', '/graphql', '{ __typename }', '"__typename":"Query"'],
  ['long documents that Yoga answers', '/graphql/', '{ __typename }', '"__typename":"Query"'],
  ['long texts that do not parse', '/graphql', '{ __typename', 'GRAPHQL_PARSE_FAILED'],
])('remembers no %s', async (_, path, operation, answer) => {
  const sendMany = async (count: number) => {
    for (let sent = 0; sent < count; sent += 1)
      expect(await send(path, `${operation} # ${'x'.repeat(90_000)} ж ${Math.random()}`)).toContain(answer)
  }
  await sendMany(20)
  const before = measureMemory()
  await sendMany(100)
  // Each takes two bytes for a character.
  expect(measureMemory() - before).toBeLessThan(9_000_000)
})
