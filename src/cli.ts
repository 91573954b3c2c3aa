// npm run --silent berth -- NOUN VERB --option VALUE: what operators do. Each prints one line of JSON. They work on the
// database of the settings, also while a gateway runs on it.

import { parseArgs } from 'node:util'
import { seedMarket } from '../prisma/seed.ts'
import { parseConfig } from './config.ts'
import { openDatabase } from './database/client.ts'
import { alone, locks } from './database/locks.ts'
import { migrate } from './database/migrations.ts'
import { openServer } from './database/server.ts'
import { invalidInput } from './domain/errors.ts'
import { parseUsd, printUsd } from './domain/money.ts'
import { readPermissions } from './domain/permissions-read.ts'
import { explainFailure } from './services/failures.ts'
import { createOperations, type Operations } from './services/services.ts'

type Options = Record<string, string | undefined>
type Command = {
  required: string[]
  optional: string[]
  /** Held while it runs. */
  lock?: number
  run: (operations: Operations, options: Options) => Promise<unknown>
}

const commands: Record<string, Command> = {
  'account create': {
    required: ['email'],
    optional: ['credit', 'name'],
    async run({ accounts }, { email = '', credit = '0', name = '' }) {
      const { account, apiKey } = await accounts.create({ email, name, creditNanos: readCredit(credit) })
      return { id: account.id, email: account.email, credit: printUsd(account.postedNanos), apiKey }
    },
  },
  'key create': {
    required: ['account'],
    optional: ['permissions', 'name', 'expires'],
    async run({ accounts }, { account: email = '', name = '', ...options }) {
      const permissions = options['permissions'] === undefined ? null : readGrant(options['permissions'])
      const expiresAt = options['expires'] === undefined ? null : readInstant(options['expires'])
      const { id, account, apiKey } = await accounts.createApiKey(email, { name, permissions, expiresAt })
      return { id, account, permissions, expiresAt, apiKey }
    },
  },
  'market generate': {
    required: ['machines'],
    optional: ['seed'],
    lock: locks.market,
    async run(operations, { machines = '', seed = '1' }) {
      const size = { machines: readCount('machines', machines), seed: readCount('seed', seed) }
      await seedMarket(operations, size, progressBar(size.machines))
      return size
    },
  },
}

try {
  const args = process.argv.slice(2)
  process.stdout.write(`${helpFor(args) ?? JSON.stringify(await main(args))}\n`)
} catch (error) {
  process.stderr.write(`${(explainFailure(error) as Error).message}\n`)
  process.exitCode = 1
}

async function main([noun, verb, ...args]: string[]): Promise<unknown> {
  const command = commands[`${noun} ${verb}`]
  if (!command) throw new Error(usageOfAll())
  const options = readOptions(`${noun} ${verb}`, command, args)
  const { databaseUrl, dataDir } = parseConfig(process.env)
  const onLost = ({ message }: Error) => void process.stderr.write(`${message}\n`)
  const server = await openServer(databaseUrl, { dataDir, role: 'command', onLost })
  try {
    await alone(server.url, locks.migration, () => migrate(server.url))
    const database = openDatabase({ url: server.url, poolSize: 2, onIdleError: onLost })
    const operations = createOperations({ database, now: () => new Date() })
    const work = () => command.run(operations, options)
    const done = command.lock === undefined ? work() : alone(server.url, command.lock, work)
    return await done.finally(() => database.close())
  } finally {
    await server.release()
  }
}

/** What there is to read for who asks; undefined for a command that is to be run. */
function helpFor(args: string[]): string | undefined {
  if (!['help', '-h'].includes(args[0] ?? '') && !args.includes('--help')) return undefined
  const words = args.filter(arg => arg !== 'help' && !arg.startsWith('-'))
  const name = words.slice(0, 2).join(' ')
  const command = commands[name]
  return command ? `Usage:\n${usageOf([name, command])}` : usageOfAll()
}

function usageOfAll(): string {
  return `The commands are:\n${Object.entries(commands).map(usageOf).join('\n')}`
}

function usageOf([name, { required, optional }]: [string, Command]): string {
  const words = [...required.map(option => `--${option} …`), ...optional.map(option => `[--${option} …]`)]
  return `  ${name} ${words.join(' ')}`
}

function readOptions(name: string, command: Command, args: string[]): Options {
  const { required, optional } = command
  const options = Object.fromEntries([...required, ...optional].map(option => [option, { type: 'string' as const }]))
  const usage = `Usage:\n${usageOf([name, command])}`
  try {
    const { values } = parseArgs({ args: args.reduce(withOperands, []), options })
    const missing = required.filter(option => values[option] === undefined)
    if (missing.length === 0) return values
    throw new Error(`Missing: ${missing.map(option => `--${option}`).join(', ')}.`)
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${usage}`)
  }
}

/** Every option takes a text. Node would leave it open whether one that begins with a dash is that text. */
function withOperands(args: string[], arg: string): string[] {
  const option = args.at(-1)
  const belongs = /^-[^-]/.test(arg) && option?.startsWith('--') && !option.includes('=')
  return belongs ? [...args.slice(0, -1), `${option}=${arg}`] : [...args, arg]
}

function readCredit(text: string): bigint {
  const nanos = parseUsd(text)
  if (nanos !== undefined && nanos >= 0n) return nanos
  throw new Error(`--credit is an amount of dollars with at most nine places, not "${text}".`)
}

function readCount(option: string, text: string): number {
  if (/^\d{1,7}$/.test(text) && Number(text) > 0) return Number(text)
  throw new Error(`--${option} is a whole number from 1 to 9999999, not "${text}".`)
}

function readInstant(text: string): Date {
  const instant = new Date(text)
  if (Number.isNaN(instant.getTime()))
    throw new Error(`--expires is an instant such as 2027-01-31T12:00:00Z, not "${text}".`)
  if (instant <= new Date()) throw new Error(`--expires is in the past: ${text}.`)
  return instant
}

function readGrant(text: string) {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new Error('--permissions is not JSON. Such as: {"api":{"misc":{},"instance_read":{}}}')
  }
  const { permissions, issues } = readPermissions(json)
  if (issues.length > 0) throw invalidInput(issues)
  return permissions
}

/** Drawn on a terminal only, and there on standard error: the result is all that standard output gets. */
function progressBar(total: number): (done: number) => void {
  if (!process.stderr.isTTY) return () => {}
  const width = 40
  return done => {
    const filled = Math.round((width * done) / total)
    const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`
    process.stderr.write(`\r${bar} ${done} of ${total} machines${done === total ? '\n' : ''}`)
  }
}
