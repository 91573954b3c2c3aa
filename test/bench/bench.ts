// Compares Berth with PostGraphile and with a floor without any framework: see docs/bench.md.

import { compareAnswers } from './measure/comparison.ts'
import { countRuns, measureRounds } from './measure/rounds.ts'
import { findPostgresPid } from './measure/runs.ts'
import { countForEach, countIdleStatements } from './measure/statements.ts'
import { type Options, parseOptions } from './options.ts'
import { startGateway, startStacks } from './peers/stacks.ts'
import { statementProblem } from './report/gates.ts'
import { printMeasured } from './report/report.ts'
import { type BenchDatabase, startDatabase } from './setup/database.ts'
import { withFolder } from './setup/folder.ts'
import { createMarket, sizeOfMarket } from './setup/market.ts'
import { checkMarket } from './setup/market-check.ts'
import { installPackages } from './setup/packages.ts'
import { quietGateway } from './setup/quiet.ts'
import { createWorkloads } from './workloads/workloads.ts'

const print = (text: string) => process.stdout.write(text)

const options = parseOptions(process.argv.slice(2))
await installPackages()
const problems = await withFolder(async folder => {
  const database = await startDatabase(folder)
  try {
    return await bench(database, folder, options)
  } finally {
    await database.stop()
  }
})
for (const problem of problems) print(`${problem}\n`)
process.exitCode = problems.length > 0 ? 1 : 0

/** Measures everything, and returns what must not be. */
async function bench({ client, url }: BenchDatabase, folder: string, options: Options): Promise<string[]> {
  const size = sizeOfMarket(options.scale)
  print(`Making a market of ${size.machines} machines.\n`)
  await migrate(url, folder)
  await createMarket(client, size)
  await checkMarket(url)
  const stacks = await startStacks({ url, folder })
  try {
    const settle = () => quietGateway(client)
    const postgresPid = await findPostgresPid(client)
    const idle = await countIdleStatements(client)
    const runs = options.connections.length * countRuns(options.rounds) + 6
    const workloads = await createWorkloads(client, size, runs)
    const problems: (string | undefined)[] = []
    for (const workload of workloads.filter(({ id }) => options.only?.includes(id) ?? true)) {
      await compareAnswers(workload, stacks, settle)
      const statements = await countForEach(workload, { stacks, client, idle, settle })
      problems.push(statementProblem(workload, statements))
      for (const connections of options.connections) {
        const load = { connections, seconds: options.seconds }
        const measured = await measureRounds(workload, { stacks, postgresPid, load, rounds: options.rounds, settle })
        print(
          `\n${workload.id}  ${workload.title}, connections: ${connections}\n\n${printMeasured(measured, statements)}`,
        )
      }
    }
    await checkMarket(url)
    return problems.filter(problem => problem !== undefined)
  } finally {
    await stacks.stop()
  }
}

/** A gateway migrates its database as it starts. */
async function migrate(url: string, folder: string): Promise<void> {
  await (await startGateway({ url, folder })).stop()
}
