// How fast a host that joins reaches its gateway. All of it on this computer, over real sockets.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { measureSpeeds } from '../../../src/host/speed.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'
import { joinAsHost } from '../../support/machines/hosts.ts'
import { serveApp } from '../../support/streams.ts'

let app: TestApp
let server: Awaited<ReturnType<typeof serveApp>>
let machineId = 0
let token: string

beforeAll(async () => {
  app = await startApp()
  server = await serveApp(app)
})

afterAll(async () => {
  await server.close()
  await app.close()
})

beforeEach(async () => {
  machineId += 1
  await listMachines(app.operations, [
    { machine: { publicIp: `127.0.2.${machineId}`, downloadMbps: 800, uploadMbps: 200 } },
  ])
  token = (await app.operations.machines.invite(machineId, { gpuAccess: 'none', validMs: 60_000 })).token
})

const ask = (init: RequestInit = {}, secret = token) =>
  fetch(`${server.url}/host/speed`, { ...init, headers: { authorization: `Bearer ${secret}` } })
const warnings = () => app.logLines.filter(line => line['machineId'] === machineId).map(({ msg }) => msg)

it('is measured both ways', async () => {
  const speeds = await measureSpeeds(server.url, token)
  expect(speeds).toEqual({ downloadMbps: expect.any(Number), uploadMbps: expect.any(Number) })
  expect(Math.min(speeds?.downloadMbps ?? 0, speeds?.uploadMbps ?? 0)).toBeGreaterThan(10)
})

it('is compared with what the offers promise, and told to both sides', async () => {
  const host = await joinAsHost(server.url, {
    token,
    measureSpeeds: async () => ({ downloadMbps: 30, uploadMbps: 190 }),
  })
  const slow = 'It downloads 30 Mbps between itself and this gateway, and its offers promise 800.'
  expect(host.warnings).toContain(slow)
  expect(host.warnings.join()).not.toContain('uploads')
  expect(warnings()).toContain(`A host has joined. ${slow}`)
})

it('is measured only for a token that is good, and once at a time', async () => {
  expect((await ask({}, `berth_invite_${'A'.repeat(43)}`)).status).toBe(401)
  const downloading = await ask()
  expect([downloading.status, (await ask()).status, (await ask({ method: 'POST', body: 'x' })).status]).toEqual([
    200, 409, 409,
  ])
  await downloading.body?.cancel()
  await expect.poll(async () => (await ask({ method: 'POST', body: 'x' })).status).toBe(200)
  const empty = await ask({ method: 'POST' })
  expect([empty.status, await empty.json()]).toEqual([200, { mbps: 0 }])
})

it('is no reason to read without end', async () => {
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 65_536
      if (sent > 1_000_000_000) return controller.close()
      controller.enqueue(new Uint8Array(65_536))
    },
  })
  await ask({ method: 'POST', body, duplex: 'half' } as RequestInit).catch(() => undefined)
  expect(sent).toBeLessThan(500_000_000)
})

it('is not known of a gateway that does not measure', async () => {
  const older = createServer((request, response) => {
    request.resume()
    response.writeHead(404).end('{}')
  }).listen(0, '127.0.0.1')
  await once(older, 'listening')
  const url = `http://127.0.0.1:${(older.address() as AddressInfo).port}`
  expect(await measureSpeeds(url, token)).toBeUndefined()
  older.close()
})
