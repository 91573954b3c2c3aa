import type pg from 'pg'
import type { MarketSize } from '../setup/market.ts'
import { labelWorkload, targetWorkload } from './fleet-commands.ts'
import { readFleets } from './fleets.ts'
import { instancesWorkload } from './instances.ts'
import { rentWorkload } from './rent.ts'
import { restInstanceWorkload, restSearchWorkload } from './rest.ts'
import { searchWorkload } from './search.ts'
import { typenameWorkload } from './typename.ts'
import type { Workload } from './workload.ts'

/** Reads come first: they find the market as it was made. `runs` is how many runs there will be of a workload. */
export async function createWorkloads(client: pg.Client, { fleets }: MarketSize, runs: number): Promise<Workload[]> {
  const all = await readFleets(client)
  const accounts = 1 + fleets
  return [
    searchWorkload(20, accounts),
    searchWorkload(64, accounts),
    instancesWorkload(accounts),
    restSearchWorkload(accounts),
    restInstanceWorkload(all),
    typenameWorkload(accounts),
    labelWorkload(client, all),
    targetWorkload(client, all),
    await rentWorkload(client, runs),
  ]
}
