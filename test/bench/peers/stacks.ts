import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Place } from '../setup/database.ts'
import { type Program, root, startProgram } from '../setup/programs.ts'
import type { Contestant } from '../workloads/workload.ts'

/** The process that answers for each contestant. */
export type Stacks = Record<Contestant, Program> & { stop(): Promise<void> }

export async function startStacks(place: Place): Promise<Stacks> {
  const Berth = await startGateway(place)
  const PostGraphile = await startPeer(place, 'postgraphile.mjs')
  const floor = await startPeer(place, 'floor/server.ts')
  return {
    ...{ Berth, PostGraphile, 'PostGraphile, by hand': PostGraphile, floor },
    async stop() {
      for (const program of [Berth, PostGraphile, floor]) await program.stop()
    },
  }
}

/** Starts a gateway with the command of `npm start` and its default settings but for limits of requests, on a free port. */
export async function startGateway({ database, folder }: Place): Promise<Program> {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const [, ...args] = scripts.start.replace(/^exec /, '').split(' ')
  const env = {
    DATABASE_URL: database.url,
    PORT: '0',
    BERTH_SECRET: 'the secret of the bench',
    DRAIN_SECONDS: '0',
    RATE_LIMIT_POINTS_PER_SECOND: '0',
  }
  return await startProgram(args, env, join(folder, 'berth.log'))
}

/** A peer runs as its own documentation advises: for production. */
async function startPeer({ database, folder }: Place, file: string): Promise<Program> {
  const env = { DATABASE_URL: database.url, NODE_ENV: 'production' }
  return await startProgram([join('test/bench/peers', file)], env, join(folder, 'peers.log'))
}
