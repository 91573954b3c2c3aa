import { measureChanges } from './changes.ts'
import { type Connection, openConnection } from './measure/connection.ts'
import { measureSearch } from './measure/searches.ts'
import { median } from './measure/statistics.ts'
import { isWanted, type Options } from './options.ts'
import { startGateway } from './peers/stacks.ts'
import { printChanges } from './report/changes.ts'
import { type GrowthFigures, printGrowth } from './report/growth.ts'
import { startDatabase } from './setup/database.ts'
import { withFolder } from './setup/folder.ts'
import { createMarket } from './setup/market.ts'
import { growthSearches } from './workloads/growth.ts'

/** 10,000 and 1,000,000 offers, with equally few rentals. */
const sizes = [
  { offers: '10,000', size: { machines: 1_880, largest: 100, fleets: 16 } },
  { offers: '1,000,000', size: { machines: 188_000, largest: 100, fleets: 16 } },
] as const

const maxRequests = 200

/** Measures each search in a small and in a large market. */
export async function measureGrowth(options: Options): Promise<void> {
  const titles = sizes.map(({ offers }) => offers)
  await withMarket(sizes[0], async small => {
    await withMarket(sizes[1], async large => {
      // Opened only now: a gateway closes a connection that sends nothing for a minute, which the large market takes to make.
      const connections = [await openConnection(small.url), await openConnection(large.url)] as const
      process.stdout.write(printGrowth(titles, await compareMarkets(...connections, options)))
      if (isWanted(options, 'changes')) {
        const market = { connection: connections[1], databaseUrl: large.databaseUrl }
        process.stdout.write(`\n${printChanges(await measureChanges(market, options))}`)
      }
      for (const connection of connections) connection.close()
    })
  })
}

/** The latencies of one request at a time. Both markets are measured within seconds in each round. */
export async function compareMarkets(small: Connection, large: Connection, options: Options): Promise<GrowthFigures[]> {
  const { only, rounds, seconds } = options
  const searches = growthSearches().filter(({ title }) => only?.some(part => title.includes(part)) ?? true)
  const measured: GrowthFigures[] = []
  for (const search of searches) {
    const figures: GrowthFigures = { title: search.title, small: [], large: [] }
    for (let round = 0; round < rounds; round += 1) {
      const run = { round, seconds, maxRequests }
      figures.small.push(median(await measureSearch(small, search, run)))
      figures.large.push(median(await measureSearch(large, search, run)))
    }
    measured.push(figures)
  }
  return measured
}

async function withMarket(
  { offers, size }: (typeof sizes)[number],
  work: (market: { url: URL; databaseUrl: string }) => Promise<void>,
): Promise<void> {
  await withFolder(async folder => {
    const database = await startDatabase(folder)
    try {
      process.stdout.write(`Making a market of ${offers} offers.\n`)
      const place = { database, folder }
      // A gateway migrates its database as it starts.
      await (await startGateway(place)).stop()
      await createMarket(database.client, size)
      const gateway = await startGateway(place)
      try {
        await work({ url: gateway.url, databaseUrl: database.url })
      } finally {
        await gateway.stop()
      }
    } finally {
      await database.stop()
    }
  })
}
