import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'

/**
 * Postpones what is due for the gateway's loops, so that no run pays for what another one wrote. Repeats, because work that
 * already runs makes more work due.
 */
export async function quietGateway(client: pg.Client): Promise<void> {
  for (let calm = 0; calm < 2; calm += 1) {
    const { rows } = await client.query('SELECT bench.quiet_gateway()::int AS due')
    if (rows[0].due === 0) continue
    calm = -1
    await sleep(100)
  }
}
