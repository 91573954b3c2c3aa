import { measureBackground } from './measure/background.ts'
import { findPostgresPid } from './measure/runs.ts'
import { isWanted, type Options } from './options.ts'
import { startGateway } from './peers/stacks.ts'
import { printBackground, printStreams } from './report/alone.ts'
import type { Place } from './setup/database.ts'
import type { Program } from './setup/programs.ts'
import { readFleets } from './workloads/fleets.ts'
import { measureStreams } from './workloads/streams.ts'

/** Measures what only Berth does, each with a new gateway. */
export async function measureAlone(place: Place, options: Options): Promise<void> {
  const { client } = place.database
  const seconds = 5 * options.seconds
  if (isWanted(options, 'W9')) {
    const fleets = await readFleets(client)
    const figures = await withGateway(place, gateway => measureStreams(gateway, fleets, { ...options, seconds }))
    process.stdout.write(printStreams(figures))
  }
  if (isWanted(options, 'idle')) {
    const postgresPid = await findPostgresPid(client)
    const shares = await withGateway(place, gateway => measureBackground(client, { gateway, postgresPid, seconds }))
    process.stdout.write(printBackground(shares))
  }
}

async function withGateway<Result>(place: Place, work: (gateway: Program) => Promise<Result>): Promise<Result> {
  const gateway = await startGateway(place)
  try {
    return await work(gateway)
  } finally {
    await gateway.stop()
  }
}
