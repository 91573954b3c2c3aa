// Loses the last changes of a cluster that replicates asynchronously, on purpose.

import { expect, vi } from 'vitest'
import { type createClient, newestCursor } from './client.ts'
import type { OutsideHost } from './host.ts'
import { measureRecovery } from './recovery.ts'
import type { FailoverSite } from './site.ts'

type Client = ReturnType<typeof createClient>
export type Loss = Awaited<ReturnType<typeof loseHistory>>

/** A gateway compares what a host has with the database each 30 s. */
export const within = { timeout: 120_000, interval: 250 }

/** An offer of one GPU. */
export const offerId = async ({ sql }: Pick<FailoverSite, 'sql'>) =>
  Number((await sql('SELECT id FROM offers WHERE rentable AND num_gpus = 1 ORDER BY id LIMIT 1'))[0]?.['id'])

/** All changes after the cut are acknowledged, and only the primary has them, which is then killed. */
export async function loseHistory(site: FailoverSite, host: OutsideHost, [here, there]: [Client, Client]) {
  const { cluster, operations, fleet, probe, sql } = site
  const rent = async (client: Client, mark: string) => await client.rent(await offerId(site), mark)
  const untilContainers = (expected: Record<string, boolean>) =>
    vi.waitFor(async () => expect(await host.containers()).toEqual(expected), within)
  const revoked = await here.change('createApiKey', { name: 'revoked', fullAccess: true }, 'secret apiKey { id }')
  const [kept, stopped] = [await rent(here, 'kept'), await rent(there, 'stopped')]
  await untilContainers({ [kept]: true, [stopped]: true })
  const cursors = [await newestCursor(here)]

  const old = await cluster.primary()
  const cutMs = Date.now()
  old.link.cut()
  const lost = await rent(there, 'lost')
  await here.change('stopInstance', { id: stopped })
  const made = await here.change('createApiKey', { name: 'made', fullAccess: true }, 'secret')
  await here.change('deleteApiKey', { id: revoked.apiKey.id })
  await operations.accounts.grantCredit('ada@example.com', { amountNanos: 5n, idempotencyKey: 'lost' })
  await untilContainers({ [kept]: true, [stopped]: false, [lost]: true })
  cursors.push(await newestCursor(there))
  const [written] = await sql(
    'SELECT (SELECT count(*)::int FROM events) AS events, (SELECT count(*)::int FROM ledger_entries) AS entries',
  )

  await old.kill()
  const recovery = await measureRecovery({ cluster, old, urls: fleet.urls(), apiKey: probe.apiKey })
  const keys = { made: made.secret as string, revoked: revoked.secret as string }
  return { old, cutMs, recovery, written, instances: { kept, stopped, lost }, cursors, keys }
}
