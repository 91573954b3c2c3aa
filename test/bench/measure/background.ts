import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Program } from '../setup/programs.ts'
import { readCpuMs, readTreeCpuMs } from './processes.ts'

/** The reconciler looks at a running instance once a minute. */
const roundSeconds = 60
const warmUpMs = 1_000

/** Shares of a core that a gateway without requests and its database use for the instances that run. */
export type BackgroundShares = { node: number; postgres: number }

/** Makes the instances that run due again, spread over a minute as they are after a while. */
export async function measureBackground(
  client: pg.Client,
  { gateway, postgresPid, seconds }: { gateway: Program; postgresPid: number; seconds: number },
): Promise<BackgroundShares> {
  // Rentals of the bench would first have to be brought to running.
  await client.query(
    `UPDATE instance_looks SET due_at = now() + random() * $1 * interval '1 second'
     WHERE instance_id IN (SELECT instance_id FROM bench.rentals)`,
    [roundSeconds],
  )
  // As after a while: without the old versions of all these rows, and with statistics of the new ones.
  await client.query('VACUUM ANALYZE instance_looks')
  await sleep(warmUpMs)
  const read = async () => [await readCpuMs(gateway.pid), await readTreeCpuMs(postgresPid)] as const
  const before = await read()
  await sleep(seconds * 1_000)
  const after = await read()
  const share = (index: 0 | 1) => ((after[index] ?? Number.NaN) - (before[index] ?? Number.NaN)) / (seconds * 1_000)
  return { node: share(0), postgres: share(1) }
}
