import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { demoModels } from '../../../prisma/gpu-models.ts'

export type MarketSize = {
  machines: number
  /** The instances of account 1, which has most. */
  largest: number
  /** How many accounts have a fleet of 64 instances: accounts 2 and up. */
  fleets: number
}

export const instancesPerFleet = 64

/** At scale 1: 200,000 offers of 37,600 machines, and about 7,500 instances. */
export function sizeOfMarket(scale: number): MarketSize {
  const scaled = (count: number, least: number) => Math.max(least, Math.round(count * scale))
  return { machines: scaled(37_600, 1_500), largest: scaled(5_000, 100), fleets: scaled(39, 16) }
}

/**
 * Makes a market in a migrated database, the same one each time. Sets of rows are made by SQL, because a rental at a time
 * through the gateway takes minutes.
 */
export async function createMarket(client: pg.Client, size: MarketSize): Promise<void> {
  await client.query('BEGIN')
  await runFile(client, 'functions.sql')
  await client.query('CREATE TABLE bench.size AS SELECT $1::int AS machines, $2::int AS largest, $3::int AS fleets', [
    size.machines,
    size.largest,
    size.fleets,
  ])
  await client.query(
    'CREATE TABLE bench.models AS SELECT * FROM json_to_recordset($1) AS model(place int, name text, vendor text, ram_mb int, bandwidth float8, tflops float8, watts float8, capability text, dlperf float8, dollars float8, low float8, high float8)',
    [JSON.stringify(weightedModels())],
  )
  for (const file of ['machines.sql', 'rentals.sql', 'peer-functions.sql', 'changes.sql', 'checks.sql'])
    await runFile(client, file)
  await client.query('COMMIT')
  await client.query('VACUUM ANALYZE')
  await client.query('CHECKPOINT')
}

/** The GPU models of the demo market. Each gets a part of the range from 0 to 1, as large as the model is common. */
function weightedModels() {
  const total = demoModels.reduce((sum, { weight }) => sum + weight, 0)
  let low = 0
  return demoModels.map(({ gpuModel, dlperf, dollarsPerHour, weight }, place) => {
    const range = { low, high: place === demoModels.length - 1 ? 1 : low + weight / total }
    low = range.high
    return {
      ...{
        place,
        name: gpuModel.name,
        vendor: gpuModel.vendor,
        ram_mb: gpuModel.ramMb,
        dlperf,
        dollars: dollarsPerHour,
      },
      ...{
        bandwidth: gpuModel.memoryBandwidthGigabytesPerSecond,
        tflops: gpuModel.tflops,
        watts: gpuModel.maxPowerWatts,
      },
      ...{ capability: gpuModel.computeCapability, ...range },
    }
  })
}

async function runFile(client: pg.Client, name: string): Promise<void> {
  await client.query(await readFile(join(import.meta.dirname, 'sql', name), 'utf8'))
}
