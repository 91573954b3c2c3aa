// Two gateways behind a proxy, with the demo market, notebooks and everything else that is on by default on loopback.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import tls from 'node:tls'
import { demoKeyFileName } from '../../../src/data-folder.ts'
import { createTrustedProxies } from '../../../src/http/client.ts'
import { unboundedSql } from '../accounts/unbounded.ts'
import { createDatabase } from '../database/database.ts'
import { urlAs } from '../database/roles.ts'
import { listMachines } from '../factories.ts'
import { freePorts } from '../failover/programs.ts'
import { openGateway } from '../gateways.ts'
import { serveNotebooks } from '../notebooks/market.ts'
import { startNotebook } from '../notebooks/notebook.ts'
import type { DebianProgram } from '../processes/debian.ts'
import { type GatewayProcess, makeDataDir, startGateway } from '../processes/programs.ts'
import { createProxyClient } from './client.ts'
import type { ProxyKind } from './configuration.ts'
import { startProxy } from './proxy.ts'

export type ProxySite = Awaited<ReturnType<typeof openProxySite>>

/** Longer than proxies keep idle connections, and longer than they pass a dead gateway over. */
export const drainSeconds = 5

export async function openProxySite(kind: ProxyKind, program: DebianProgram) {
  const database = await createDatabase()
  const { dataDir, remove } = await makeDataDir()
  const [https = 0, http = 0, first = 0, second = 0] = await freePorts(4)
  const env = {
    ...{ BERTH_DATA_DIR: dataDir, DATABASE_URL: database.url, BERTH_SECRET: 'a secret of tests', DEMO_MARKET: 'true' },
    ...{ TRUSTED_PROXIES: '127.0.0.1', DRAIN_SECONDS: String(drainSeconds), SIMULATED_DELAY: '0.03' },
  }
  const start = (port: number) => startGateway({ ...env, PORT: String(port) })
  const gateways: [GatewayProcess, GatewayProcess] = [await start(first), await start(second)]
  const ended: GatewayProcess[] = []

  const inside = openGateway({ url: database.url, delayFactor: 0.03 })
  const renter = await inside.operations.accounts.create({ email: 'ada@example.com', creditNanos: 0n })
  await inside.sql(unboundedSql(renter.account.id))
  await listMachines(inside.operations, [{ machine: { publicIp: '203.0.113.1', diskMb: 100_000_000 } }])
  const [machine] = await inside.sql('SELECT max(id)::int AS id FROM machines')
  const notebook = await startNotebook()
  const notebooks = await serveNotebooks({
    ...{ gateway: inside, provider: notebook.provider, proxies: createTrustedProxies(['127.0.0.1']) },
    proxy: { protocol: 'https', host: `notebooks.localhost:${https}` },
  })
  const proxy = await startProxy(kind, program, {
    ...{ https, http, gateways: [first, second], notebooks: notebooks.port },
  })
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), proxy.certificate])
  const client = createProxyClient({ port: https, ca: proxy.certificate })
  const demoKey = (await readFile(join(dataDir, demoKeyFileName(urlAs('app', database.url))), 'utf8')).trim()

  async function end(place: 0 | 1, signal: NodeJS.Signals): Promise<number | null> {
    const gateway = gateways[place]
    gateway.child.kill(signal)
    ended.push(gateway)
    return await gateway.exit
  }

  return {
    ...{ database, inside, notebooks, client, demoKey, apiKey: renter.apiKey, machineId: Number(machine?.['id']) },
    url: `https://localhost:${https}`,
    /** What the gateways are started with, besides their ports. */
    env,
    certificate: proxy.certificate,
    /** Where the proxy answers without TLS, if it does. */
    plainUrl: `http://localhost:${http}`,
    /** All that the gateways have logged. */
    log: () => [...ended, ...gateways].map(({ errors }) => errors()).join(''),
    printed: () => [...ended, ...gateways].map(({ output }) => output()).join(''),
    end,
    async restart(place: 0 | 1, signal: NodeJS.Signals): Promise<number | null> {
      const code = await end(place, signal)
      gateways[place] = await start(place === 0 ? first : second)
      return code
    },
    async close(): Promise<void> {
      client.close()
      notebooks.close()
      notebook.close()
      await proxy.stop()
      for (const { child, exit } of gateways) {
        child.kill('SIGKILL')
        await exit
      }
      await inside.close()
      await database.drop().catch(() => {})
      await remove()
    },
  }
}
