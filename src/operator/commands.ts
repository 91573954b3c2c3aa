import { suggestNames } from '../domain/nearest.ts'
import { compose } from '../services/compose.ts'
import { accessCommands } from './accounts/access.ts'
import { accountCommands } from './accounts/accounts.ts'
import { capCommands } from './accounts/caps.ts'
import type { OperatorCommand } from './command.ts'
import { creditCommands } from './credit.ts'
import { databaseCommands } from './database.ts'
import { doctorCommands } from './doctor.ts'
import { engineCommands } from './engines.ts'
import { failoverCommands } from './failovers.ts'
import { hostCommands } from './hosts.ts'
import { instanceCommands } from './instances/instances.ts'
import { inviteCommands } from './invites.ts'
import { keyCommands } from './keys.ts'
import { machineCommands } from './machines.ts'
import { marketCommands } from './market.ts'
import { secretCommands } from './secrets.ts'
import { toolboxCommands } from './toolbox.ts'
import { webhookCommands } from './webhooks/webhooks.ts'

/** The keys are "noun verb", or one word. Two lists with a command of the same name do not compile. */
const commands: Record<string, OperatorCommand> = compose(
  accountCommands,
  accessCommands,
  capCommands,
  keyCommands,
  creditCommands,
  instanceCommands,
  machineCommands,
  engineCommands,
  inviteCommands,
  webhookCommands,
  hostCommands,
  marketCommands,
  toolboxCommands,
  failoverCommands,
  databaseCommands,
  doctorCommands,
  secretCommands,
)

/** Finds a command and parses its options. An error in them ends with the command's usage. */
export function findCommand(words: string[]) {
  const name = nameOf(words)
  const [noun = ''] = words
  const args = words.slice(name.split(' ').length)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command && name === '') throw new Error(`No command is given.\n${summariesOf('')}`)
  if (!command) {
    const meant = hasCommands(noun) ? '' : suggestNames(name, Object.keys(commands))
    throw new Error(`There is no command "${name}".${meant || `\n${summariesOf(noun)}`}`)
  }
  try {
    const { lock, lineOf, isLocal = false } = command
    return { lock, lineOf, isLocal, run: command.read(args) }
  } catch (error) {
    if (!isUsageError(error)) throw error
    throw new Error(`${error.message}\nUsage:\n${usageOf([name, command])}`)
  }
}

function nameOf([noun = '', verb = '']: string[]): string {
  return Object.hasOwn(commands, noun) ? noun : `${noun} ${verb}`.trim()
}

/** A domain error is about a value or a file's content, where the usage would not help. */
function isUsageError(error: unknown): error is Error {
  return error instanceof Error && error.name !== 'DomainError'
}

/** The help that the arguments ask for; undefined if they name a command to run. */
export function helpFor(args: string[]): string | undefined {
  if (!['help', '-h'].includes(args[0] ?? '') && !args.includes('--help')) return undefined
  const words = args.filter(arg => arg !== 'help' && !arg.startsWith('-'))
  const name = nameOf(words)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) return summariesOf(words[0] ?? '')
  const width = Math.max(...Object.keys(command.options).map(option => option.length))
  const options = Object.entries(command.options).map(([option, { meaning }]) => {
    return `  --${option.padEnd(width)}  ${meaning}`
  })
  const parts = [command.summary, `Usage:\n${usageOf([name, command])}`, options.join('\n'), command.notes?.() ?? '']
  return parts.filter(part => part !== '').join('\n\n')
}

/** A line for each command of a noun, or for all commands if the noun is unknown. */
function summariesOf(noun: string): string {
  const shown = Object.entries(commands).filter(([name]) => !hasCommands(noun) || name.startsWith(`${noun} `))
  const width = Math.max(...shown.map(([name]) => name.length))
  const lines = shown.map(([name, { summary }]) => `  ${name.padEnd(width)}  ${firstSentence(summary)}`)
  return `The commands are:\n${lines.join('\n')}\n"help NOUN VERB" explains one of them.`
}

function hasCommands(noun: string): boolean {
  return Object.keys(commands).some(name => name.startsWith(`${noun} `))
}

function firstSentence(text: string): string {
  return text.replace(/[.:] .*/s, '.')
}

function usageOf([name, { options }]: [string, OperatorCommand]): string {
  const words = Object.entries(options).map(([option, { required, flag, operand }]) => {
    const word = operand ? option.toUpperCase() : flag ? `--${option}` : `--${option} …`
    return required ? word : `[${word}]`
  })
  return `  ${[name, ...words].join(' ')}`
}
