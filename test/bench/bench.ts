// Compares Berth with PostGraphile and with a server without any framework: see docs/bench.md.

import { once } from 'node:events'
import { measureAlone } from './alone.ts'
import { compareAll } from './compare.ts'
import { measureGrowth } from './growth.ts'
import { type Options, parseOptions } from './options.ts'
import { startGateway } from './peers/stacks.ts'
import { type Place, startDatabase } from './setup/database.ts'
import { withFolder } from './setup/folder.ts'
import { createMarket, sizeOfMarket } from './setup/market.ts'
import { checkMarket } from './setup/market-check.ts'
import { installPackages } from './setup/packages.ts'

const options = parseOptions(process.argv.slice(2))
if (options.growth) {
  await Promise.race([measureGrowth(options), failOnSignal()])
  process.exit(0)
}
await installPackages()
const problems = await withFolder(async folder => {
  const database = await startDatabase(folder)
  try {
    return await Promise.race([bench({ database, folder }, options), failOnSignal()])
  } finally {
    await database.stop()
  }
})
for (const problem of problems) process.stdout.write(`${problem}\n`)
// After a signal, promises of the interrupted work would keep the process alive.
process.exit(problems.length > 0 ? 1 : 0)

/** Measures everything, and returns what must not be. */
async function bench(place: Place, options: Options): Promise<string[]> {
  const { client, url } = place.database
  const size = sizeOfMarket(options.scale)
  process.stdout.write(`Making a market of ${size.machines.toLocaleString('en-US')} machines.\n`)
  // A gateway migrates its database as it starts.
  await (await startGateway(place)).stop()
  await createMarket(client, size)
  await checkMarket(url)
  const problems = await compareAll(place, size, options)
  await measureAlone(place, options)
  await checkMarket(url)
  return problems
}

async function failOnSignal(): Promise<never> {
  const [signal] = await Promise.race(['SIGINT', 'SIGTERM'].map(name => once(process, name)))
  throw new Error(`Interrupted by ${signal}.`)
}
