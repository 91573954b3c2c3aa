// npm run --silent berth -- NOUN VERB --option VALUE: what operators do. Each prints a line of JSON, and a list one for
// each row. They work on the database of the settings, also while a gateway runs on it, and say on standard error which.

import { once } from 'node:events'
import { parseConfig } from './config.ts'
import { openDatabase } from './database/client.ts'
import { describeDatabase, openServer } from './database/embedded/server.ts'
import { locks, withLock } from './database/locks.ts'
import { migrate } from './database/migrations.ts'
import { DomainError } from './domain/errors.ts'
import type { CommandResult } from './operator/command.ts'
import { findCommand, helpFor } from './operator/commands.ts'
import { translateDatabaseError } from './services/database-errors.ts'
import { createOperations } from './services/operations.ts'

let outputError: NodeJS.ErrnoException | undefined
process.stdout.on('error', error => {
  outputError = error
})
// Whoever does not listen to what is said beside the answer still gets that.
process.stderr.on('error', () => {})

try {
  const args = process.argv.slice(2)
  const help = helpFor(args)
  if (help === undefined) await main(args)
  else process.stdout.write(`${help}\n`)
} catch (error) {
  // Whoever reads the list may have seen enough of it.
  if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) {
    process.stderr.write(`${errorText(translateDatabaseError(error))}\n`)
    process.exitCode = 1
  }
}

async function main(args: string[]): Promise<void> {
  const { lock, run } = findCommand(args)
  const { databaseUrl, dataDir } = parseConfig(process.env)
  // Who has settings for several of them may have those of another in force.
  process.stderr.write(`Working on ${describeDatabase(databaseUrl, { dataDir })}.\n`)
  const onLost = ({ message }: Error) => void process.stderr.write(`${message}\n`)
  const server = await openServer(databaseUrl, { dataDir, role: 'command', onLost })
  try {
    await withLock(server.url, locks.migration, () => migrate(server.url))
    const database = openDatabase({ url: server.url, poolSize: 2, onIdleError: onLost })
    const operations = createOperations({ database })
    const work = async () => await printResult(await run(operations))
    const done = lock === undefined ? work() : withLock(server.url, locks[lock], work)
    await done.finally(() => database.close())
  } finally {
    await server.release()
  }
}

async function printResult(answer: CommandResult): Promise<void> {
  const rows = Symbol.asyncIterator in answer ? answer : [answer]
  for await (const row of rows) {
    if (outputError) throw outputError
    if (!process.stdout.write(`${JSON.stringify(row)}\n`)) await once(process.stdout, 'drain')
  }
}

/** Everything wrong with an input, a line for each. */
function errorText(error: unknown): string {
  const issues = error instanceof DomainError && error.code === 'INVALID_INPUT' ? error.details.issues : []
  if (issues.length > 0) return issues.map(({ path, message }) => `${path}: ${message}`).join('\n')
  return error instanceof Error ? error.message : String(error)
}
