// The configurations under docs/proxies, while one of two gateways is away. The other one is a small server that answers at once, so the
// proxy has many requests to place at the same moment.

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { freePorts } from '../../support/failover/programs.ts'
import { createProxyClient, type ProxyClient } from '../../support/proxies/client.ts'
import { findProxies, startProxy } from '../../support/proxies/proxy.ts'

const programs = await findProxies()
const rounds = 200
const atOnce = 100

let gateway: Server | undefined
let proxy: Awaited<ReturnType<typeof startProxy>> | undefined
let client: ProxyClient | undefined

afterEach(async () => {
  client?.close()
  await proxy?.stop()
  gateway?.close()
})

describe.each(['nginx', 'caddy'] as const)('behind %s', kind => {
  it.skipIf(!programs[kind])('the gateway that is there gets every request while the other one is away', async () => {
    gateway = createServer((request, response) => request.resume().on('end', () => response.end('{}')))
    await once(gateway.listen(0, '127.0.0.1'), 'listening')
    const { port: there } = gateway.address() as AddressInfo
    const [https = 0, http = 0, away = 0] = await freePorts(3)
    proxy = await startProxy(kind, programs[kind] ?? [], { https, http, gateways: [there, away], notebooks: there })
    client = createProxyClient({ port: https, ca: proxy.certificate })
    const { ask } = client
    const statuses: Record<number, number> = {}
    for (let round = 0; round < rounds; round += 1) {
      const asked = Array.from({ length: atOnce }, () => ask({ method: 'PUT', path: '/api/v0/volumes/', body: '{}' }))
      for (const { status } of await Promise.all(asked)) statuses[status] = (statuses[status] ?? 0) + 1
    }
    expect(statuses).toEqual({ 200: rounds * atOnce })
  })
})
