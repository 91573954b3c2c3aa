// The operator's commands: npm run --silent berth -- NOUN VERB --option VALUE. On a terminal, a command prints a table or
// lines for people. Otherwise it prints one line of JSON, and a list one line for each row. Commands work on the configured
// database, even while a gateway runs on it. They name that database on standard error.

import { join } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import { createBackups } from './backups.ts'
import { createLogReader } from './command-logs.ts'
import { type Config, parseConfig, settingNames } from './config.ts'
import { type Database, openDatabase } from './database/client.ts'
import { describeDatabase, openServer } from './database/embedded/server.ts'
import { newestMigration } from './database/history/versions.ts'
import { locks, withLock } from './database/locks.ts'
import { migrate, refuseUnmigrated } from './database/migrations.ts'
import { checkPrivileges } from './database/roles/check.ts'
import { examine } from './doctor/doctor.ts'
import { DomainError } from './domain/errors.ts'
import type { Engine } from './domain/machines/engines.ts'
import { findReadProblem } from './give-up-root.ts'
import { createHost } from './host/host.ts'
import { createLog } from './http/log.ts'
import { notebookLimits } from './notebooks/limits.ts'
import type { CommandOperations, LocalOperations } from './operator/command.ts'
import { findCommand, helpFor } from './operator/commands.ts'
import { printResult } from './operator/print.ts'
import { findFirewallGaps } from './providers/docker/inspection/firewall.ts'
import { inspectWithReason } from './providers/docker/inspection/unreachable.ts'
import { buildToolbox, readToolbox } from './providers/docker/toolbox.ts'
import { logDestination } from './readable-log.ts'
import { createSecretOperations, loadSecret } from './secret-source.ts'
import { translateDatabaseError } from './services/database-errors.ts'
import { instanceLogOperations } from './services/instances/operator/logs.ts'
import { engineOperations } from './services/machines/engines/connect.ts'
import { createOperations } from './services/operations.ts'
import { createSecretCheck } from './services/sealing/check.ts'
import { createSecrets, type Secrets } from './services/secrets.ts'
import { webhookListOperations } from './services/webhooks/list.ts'
import { sshLimits } from './ssh/limits.ts'
import { listenForStopSignals } from './stop-signals.ts'

const build = { version: packageJson.version, migration: newestMigration, node: process.versions.node }

// A closed standard error must not end the command: the result goes to standard output.
process.stderr.on('error', () => {})

try {
  const given = process.argv.slice(2)
  const args = given[0] === '--version' ? ['version'] : given
  const help = helpFor(args)
  if (help === undefined) await main(args)
  else process.stdout.write(`${help}\n`)
} catch (error) {
  // The reader of a list, such as `head`, may close the pipe early. That is no error.
  if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) {
    process.stderr.write(`${errorText(translateDatabaseError(error))}\n`)
    process.exitCode = 1
  }
}

async function main(args: string[]): Promise<void> {
  const { lock, display, isLocal, migrates, run } = findCommand(args)
  const local = localOperations(() => parseConfig(process.env))
  // Safe: a local command uses nothing else.
  if (isLocal) return await printResult(await run(local as CommandOperations), process.stdout, display)
  const config = parseConfig(process.env)
  const { dataDir, runAs } = config
  nameDatabase(config)
  const server = await openServer(config, { dataDir, role: 'command', runAs, onLost })
  const { databaseUrl: url, directUrl, ownerUrl } = server.urls
  try {
    const migrations = migrates ? await withLock(ownerUrl, locks.migration, () => migrate(ownerUrl)) : []
    if (!migrates) await refuseUnmigrated(directUrl ?? url)
    const database = openDatabase({ url, directUrl, poolSize: 2, onIdleError: onLost })
    const secrets = () => openSecrets(config, database)
    const engines = engineOperations({ database, secrets, inspectEngine: inspectWithReason })
    // A command says what failed in a sentence of its own.
    const log = createLog('silent', process.stderr)
    const readLog = createLogReader({ ...config, database, log })
    const instanceLogs = instanceLogOperations({ database, openSecrets: secrets, readLog })
    const checks = {
      findFirewallGaps: (engine: Pick<Engine, 'url' | 'tls'>) =>
        findFirewallGaps(engine, () => readToolbox(config.toolboxFile)),
    }
    const secret = createSecretOperations(config, { database, ownerUrl })
    const webhooks = webhookListOperations({ database, openSecrets: secrets })
    const withSecret = { engines, instanceLogs, webhooks, secret }
    const operations = { ...createOperations({ database }), ...local, ...checks, ...withSecret, migrations }
    const work = async () => await printResult(await run(operations), process.stdout, display)
    const runWork = async () => {
      await checkPrivileges(database.pool)
      await (lock === undefined ? work() : withLock(directUrl ?? url, locks[lock], work))
    }
    await runWork().finally(() => database.close())
  } finally {
    await server.release()
  }
}

/** The settings in force may name a database other than the one that the operator means. */
function nameDatabase(config: Config): void {
  const { databaseUrl, dataDir } = config
  process.stderr.write(`Working on ${describeDatabase(databaseUrl, { dataDir })}.\n`)
  warnOfUnknownSettings(config)
}

function warnOfUnknownSettings({ unknownSettings }: Config): void {
  process.stderr.write(unknownSettings.map(sentence => `${sentence}\n`).join(''))
}

function onLost({ message }: Error): void {
  process.stderr.write(`${message}\n`)
}

/** Settings are read when an operation needs them, since the doctor also explains wrong ones. */
function localOperations(readConfig: () => Config): LocalOperations {
  const startHost = () => {
    const config = readConfig()
    warnOfUnknownSettings(config)
    const { dataDir, logLevel } = config
    const { requested: signal } = listenForStopSignals()
    const log = createLog(logLevel, logDestination(process.stderr, process.stderr))
    return createHost({ folder: join(dataDir, 'host'), version: build.version, log, signal })
  }
  return {
    backups: createBackups({ readConfig, onLost, nameDatabase }),
    build,
    toolbox: {
      async build() {
        const config = readConfig()
        warnOfUnknownSettings(config)
        const { toolboxFile: file } = config
        await buildToolbox(file)
        return { file }
      },
    },
    host: { join: options => startHost().join(options), run: () => startHost().run() },
    doctor: {
      examine(options) {
        const given = Object.keys(process.env).filter(name => process.env[name])
        const names = { given, known: settingNames }
        const program = { version: build.version, settings: tryConfig(readConfig), names, findReadProblem }
        const faces = { ssh: sshLimits.connections, notebooks: notebookLimits.connections }
        return examine(program, faces, options)
      },
    },
  }
}

/** The settings, or what is wrong with them. */
function tryConfig(readConfig: () => Config): Config | { problems: string[] } {
  try {
    return readConfig()
  } catch (error) {
    if (error instanceof AggregateError) return { problems: error.errors }
    throw error
  }
}

/** The secret that encrypts values in the database. It must be the one that gateways have. */
async function openSecrets(config: Config, database: Database): Promise<Secrets> {
  const secrets = createSecrets(await loadSecret(config))
  const check = createSecretCheck({ database, secrets })
  await check.verify()
  await check.save()
  return secrets
}

/** One line for each issue of an invalid input. */
function errorText(error: unknown): string {
  const issues = error instanceof DomainError && error.code === 'INVALID_INPUT' ? error.details.issues : []
  if (issues.length > 0) return issues.map(({ path, message }) => `${path}: ${message}`).join('\n')
  return error instanceof Error ? error.message : String(error)
}
