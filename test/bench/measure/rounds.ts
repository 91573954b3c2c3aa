import type { Stacks } from '../peers/stacks.ts'
import { type Contestant, contestants, type Workload } from '../workloads/workload.ts'
import type { Load } from './load.ts'
import { type Figures, measureRun } from './runs.ts'

/** The figures of each round. */
export type Measured = Partial<Record<Contestant, Figures[]>>

export type Rounds = {
  stacks: Stacks
  postgresPid: number
  load: Load
  rounds: number
  /** Called after each run. */
  settle(): Promise<void>
}

export function contestantsOf({ ways }: Workload): Contestant[] {
  return contestants.filter(name => ways[name])
}

/** How many runs `measureRounds` makes of a workload with three contestants. */
export function countRuns(rounds: number): number {
  return 3 * (rounds + 1)
}

/**
 * Runs all contestants in turn, round after round, so that each round sees them all under the same conditions. The order
 * turns around with each round. The first round warms up and does not count.
 */
export async function measureRounds(workload: Workload, { rounds, ...setting }: Rounds): Promise<Measured> {
  const names = contestantsOf(workload)
  const measured: Measured = Object.fromEntries(names.map(name => [name, []]))
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const figures = await measureContestant(workload, name, round, setting)
      if (round > 0) measured[name]?.push(figures)
    }
  }
  return measured
}

async function measureContestant(
  workload: Workload,
  name: Contestant,
  round: number,
  { stacks, postgresPid, load, settle }: Omit<Rounds, 'rounds'>,
): Promise<Figures> {
  const way = workload.ways[name]
  if (!way) throw new Error(`${name} has no way to do ${workload.id}.`)
  const figures = await measureRun(way, workload.inputs(round), { program: stacks[name], postgresPid, load })
  await settle()
  await workload.restore?.()
  return figures
}
