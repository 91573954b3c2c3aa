import { type Connection, openConnection } from './measure/connection.ts'
import { median } from './measure/statistics.ts'
import type { Options } from './options.ts'
import { startGateway } from './peers/stacks.ts'
import { type GrowthFigures, printGrowth } from './report/growth.ts'
import { startDatabase } from './setup/database.ts'
import { withFolder } from './setup/folder.ts'
import { createMarket } from './setup/market.ts'
import { type GrowthSearch, growthSearches, pageRequest } from './workloads/growth.ts'

/** 10,000 and 1,000,000 offers, with equally few rentals. */
const sizes = [
  { offers: '10,000', size: { machines: 1_880, largest: 100, fleets: 16 } },
  { offers: '1,000,000', size: { machines: 188_000, largest: 100, fleets: 16 } },
] as const

/** A search is sent this often before it is measured, so that its statement has a name if it can have one. */
const warmUps = 5
const minRequests = 5
const maxRequests = 200

/** Measures each search in a small and in a large market. */
export async function measureGrowth(options: Options): Promise<void> {
  const titles = sizes.map(({ offers }) => offers)
  await withMarket(sizes[0], async small => {
    await withMarket(sizes[1], async large => {
      process.stdout.write(printGrowth(titles, await compareMarkets(small, large, options)))
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
      figures.small.push(await measure(small, search, round, seconds))
      figures.large.push(await measure(large, search, round, seconds))
    }
    measured.push(figures)
  }
  return measured
}

/** The median latency in ms. */
async function measure(connection: Connection, search: GrowthSearch, round: number, seconds: number): Promise<number> {
  const cursor = await findCursor(connection, search.offersBefore)
  if (round === 0)
    for (let index = 0; index < warmUps; index += 1) await send(connection, search.request(-1, index, cursor))
  const latencies: number[] = []
  const start = performance.now()
  while (
    latencies.length < minRequests ||
    (latencies.length < maxRequests && performance.now() < start + seconds * 1_000)
  ) {
    const request = search.request(round, latencies.length, cursor)
    const sent = performance.now()
    await send(connection, request)
    latencies.push(performance.now() - sent)
  }
  return median(latencies)
}

async function send(connection: Connection, request: Parameters<Connection['send']>[0]): Promise<string> {
  const answer = await connection.send(request)
  if (answer.includes('"errors"')) throw new Error(answer.slice(0, 2_000))
  return answer
}

/** The cursor after this number of offers. */
async function findCursor(connection: Connection, offersBefore: number): Promise<string | undefined> {
  let cursor: string | undefined
  for (let passed = 0; passed < offersBefore; passed += 100) {
    const size = Math.min(100, offersBefore - passed)
    const answer = await send(connection, pageRequest(size, cursor))
    const [, found] = /"endCursor":"([^"]+)"/.exec(answer) ?? []
    if (found) cursor = found
  }
  return cursor
}

async function withMarket(
  { offers, size }: (typeof sizes)[number],
  work: (connection: Connection) => Promise<void>,
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
      const connection = await openConnection(gateway.url)
      try {
        await work(connection)
      } finally {
        connection.close()
        await gateway.stop()
      }
    } finally {
      await database.stop()
    }
  })
}
