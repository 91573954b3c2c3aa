import { compareAnswers } from './measure/comparison.ts'
import { countRuns, measureRounds } from './measure/rounds.ts'
import { findPostgresPid } from './measure/runs.ts'
import { countForEach, countIdleStatements } from './measure/statements.ts'
import { isWanted, type Options } from './options.ts'
import { startStacks } from './peers/stacks.ts'
import { failureProblems, statementProblems } from './report/gates.ts'
import { printMeasured } from './report/report.ts'
import type { Place } from './setup/database.ts'
import type { MarketSize } from './setup/market.ts'
import { quietGateway } from './setup/quiet.ts'
import { createWorkloads } from './workloads/workloads.ts'

/** Compares all contestants, workload after workload. Returns what must not be. */
export async function compareAll(place: Place, size: MarketSize, options: Options): Promise<string[]> {
  const { client } = place.database
  const { connections, rounds, seconds } = options
  // Comparing answers and counting statements are runs, too.
  const runs = connections.length * countRuns(rounds) + 2 * countRuns(0)
  const workloads = (await createWorkloads(client, size, runs)).filter(({ id }) => isWanted(options, id))
  if (workloads.length === 0) return []
  const stacks = await startStacks(place)
  try {
    const settle = () => quietGateway(client)
    const postgresPid = await findPostgresPid(client)
    const idle = await countIdleStatements(client)
    const problems: string[] = []
    for (const workload of workloads) {
      await compareAnswers(workload, stacks, settle)
      const statements = await countForEach(workload, { stacks, client, idle, settle })
      problems.push(...statementProblems(workload, statements))
      for (const count of connections) {
        const load = { connections: count, seconds }
        const measured = await measureRounds(workload, { stacks, postgresPid, load, rounds, settle })
        problems.push(...failureProblems(workload, measured))
        const title = `${workload.id}  ${workload.title}, connections: ${count}`
        process.stdout.write(`\n${title}\n\n${printMeasured(measured, statements)}`)
      }
    }
    return problems
  } finally {
    await stacks.stop()
  }
}
