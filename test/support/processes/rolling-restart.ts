import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { createDatabase } from '../database/database.ts'
import { type BalancerAnswer, type BalancerRequest, createBalancer } from './balancer.ts'
import { type GatewayProcess, makeDataDir, runBerth, startGateway } from './programs.ts'

/** The number of requests that succeeded while gateways restarted, and the requests that failed. */
export type RollingRestartResult = { answered: number; failed: string[] }

/** Restarts two gateways of one database in turn, under a steady load of reads and writes. */
export async function runRollingRestarts(restarts: number): Promise<RollingRestartResult> {
  const database = await createDatabase()
  const { dataDir, remove } = await makeDataDir()
  const env = {
    BERTH_DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    BERTH_SECRET: 'a secret of these tests',
    // One key sends as fast as the gateways answer.
    RATE_LIMIT_POINTS_PER_SECOND: '0',
    // The balancer looks every 200 ms. The rest is for a machine that stands still for a while.
    DRAIN_SECONDS: '3',
  }
  const balancer = createBalancer()
  const start = async () => {
    const gateway = await startGateway(env)
    balancer.add(gateway)
    await expect.poll(balancer.readyUrls, { timeout: 10_000 }).toContain(gateway.url)
    return gateway
  }
  const stopGateway = async (gateway: GatewayProcess, signal: NodeJS.Signals) => {
    gateway.child.kill(signal)
    expect(await gateway.exit).toBe(0)
    balancer.remove(gateway)
  }
  let gateways = [await start(), await start()]
  const { result } = await runBerth(env, 'account', 'create', '--email', 'a@example.com', '--credit', '10')
  const load = startLoad(balancer.send, result.apiKey)
  for (let restart = 0; restart < restarts; restart += 1) {
    const [oldest, ...others] = gateways as [GatewayProcess, GatewayProcess]
    await stopGateway(oldest, 'SIGTERM')
    gateways = [...others, await start()]
  }
  const report = await load.stop()
  // Without load there is nothing to drain.
  await Promise.all(gateways.map(gateway => stopGateway(gateway, 'SIGINT')))
  balancer.close()
  await database.drop()
  await remove()
  return report
}

/** Starts four clients that send requests 10 ms apart. */
function startLoad(send: (call: BalancerRequest) => Promise<BalancerAnswer>, key: string) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const graphql = (query: string): BalancerRequest => ({
    method: 'POST',
    path: '/graphql',
    headers,
    body: JSON.stringify({ query }),
  })
  const calls: BalancerRequest[] = [
    { method: 'GET', path: '/api/v0/users/current/', headers },
    { method: 'POST', path: '/api/v0/bundles/', headers, body: '{"limit":1}' },
    graphql('{ viewer { account { credit } } }'),
    graphql('mutation { createTemplate(input: { name: "rolled", image: "ubuntu" }) { __typename } }'),
  ]
  const result: RollingRestartResult = { answered: 0, failed: [] }
  let isOver = false
  async function client(first: number): Promise<void> {
    for (let n = first; !isOver; n += 1) {
      const call = calls[n % calls.length] as BalancerRequest
      const outcome = await send(call).then(
        ({ status }) => status,
        (error: NodeJS.ErrnoException) => error.code ?? error.message,
      )
      if (outcome === 200) result.answered += 1
      else result.failed.push(`${call.method} ${call.path}: ${outcome}`)
      await sleep(10)
    }
  }
  const clients = calls.map((_, index) => client(index))
  return {
    async stop(): Promise<RollingRestartResult> {
      isOver = true
      await Promise.all(clients)
      return result
    },
  }
}
