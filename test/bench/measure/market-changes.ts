import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** Changes the market this often a second, or as often as PostgreSQL can, until `stop`, which returns the rate. */
export function startChanges(url: string, changesPerSecond: number): { stop(): Promise<number> } {
  let isStopped = false
  const running = run()
  return {
    async stop() {
      isStopped = true
      return await running
    },
  }

  async function run(): Promise<number> {
    const client = new pg.Client({ connectionString: url, application_name: 'bench' })
    await client.connect()
    try {
      return await change(client)
    } finally {
      await client.end()
    }
  }

  async function change(client: pg.Client): Promise<number> {
    const start = performance.now()
    const secondsPassed = () => (performance.now() - start) / 1_000
    let done = 0
    while (!isStopped) {
      // What PostgreSQL cannot do in time is not made up for later.
      const due = Math.min(20, Math.floor(secondsPassed() * changesPerSecond) - done)
      if (due > 0) await client.query('CALL bench.change_market($1)', [due])
      else await sleep(2)
      done += Math.max(0, due)
    }
    return done / secondsPassed()
  }
}
