import type { Connection } from './measure/connection.ts'
import { startChanges } from './measure/market-changes.ts'
import { measureSearch } from './measure/searches.ts'
import { percentile } from './measure/statistics.ts'
import type { Options } from './options.ts'
import type { ChangeFigures } from './report/changes.ts'
import { growthSearches } from './workloads/growth.ts'

const searched = ['six filters', 'no filter', 'one model', 'country and datacenter']
/** Changes a second. 0 is a still market. */
const rates = [0, 100, 500]

/** The latencies of searches, one at a time, in a still and in a changing market by turns. */
export async function measureChanges(
  { connection, databaseUrl }: { connection: Connection; databaseUrl: string },
  { rounds, seconds }: Options,
): Promise<ChangeFigures[]> {
  const searches = growthSearches().filter(({ title }) => searched.includes(title))
  const figures: ChangeFigures[] = []
  for (let round = 0; round < rounds; round += 1)
    for (const rate of rates) {
      const changes = startChanges(databaseUrl, rate)
      const measured: Omit<ChangeFigures, 'rate' | 'achieved'>[] = []
      for (const search of searches) {
        const sorted = await measureSearch(connection, search, { round, seconds: 8 * seconds, maxRequests: 10_000 })
        measured.push({ title: search.title, p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) })
      }
      const achieved = await changes.stop()
      figures.push(...measured.map(figure => ({ ...figure, rate, achieved })))
    }
  return figures
}
