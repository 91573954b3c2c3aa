import { askForOneOf, nearestNames, suggestNames } from '../domain/nearest.ts'
import { compose } from '../services/compose.ts'
import { accessCommands } from './accounts/access.ts'
import { accountCommands } from './accounts/accounts.ts'
import { capCommands } from './accounts/caps.ts'
import type { OperatorCommand } from './command.ts'
import { creditCommands } from './credit.ts'
import { databaseCommands } from './database.ts'
import { doctorCommands } from './doctor.ts'
import { engineCommands } from './engines.ts'
import { eventCommands } from './events/events.ts'
import { failoverCommands } from './failovers.ts'
import { hostCommands } from './hosts.ts'
import { instanceCommands } from './instances/instances.ts'
import { inviteCommands } from './invites.ts'
import { keyCommands } from './keys.ts'
import { machineCommands } from './machines.ts'
import { marketCommands } from './market.ts'
import { nameOf } from './options.ts'
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
  eventCommands,
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
  const name = wordsOf(words)
  const [noun = ''] = words
  const args = words.slice(name.split(' ').length)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command && name === '') throw new Error(`${summariesOf('')}\nNo command is given.`)
  if (!command) throw new Error(`There is no command "${name}".${hintFor(name, noun)}`)
  try {
    const { lock, lineOf, columns, isLocal = false, migrates = false } = command
    return { lock, display: { lineOf, columns }, isLocal, migrates, run: command.read(args) }
  } catch (error) {
    if (!isUsageError(error)) throw error
    throw new Error(`${error.message}\nUsage:\n${usageOf([name, command])}`)
  }
}

/** The error is short, so that it does not scroll away: the whole list is in the help. */
function hintFor(name: string, noun: string): string {
  const names = namesOf(noun)
  if (names.length === 0) return suggestNames(name, Object.keys(commands)) || ' "help" lists all commands.'
  const verbs = names.map(one => one.slice(noun.length + 1))
  const meant = nearestNames(name.slice(noun.length + 1), verbs).map(verb => `"${noun} ${verb}"`)
  return askForOneOf(meant) || ` The commands are ${names.map(one => `"${one}"`).join(', ')}.`
}

function wordsOf([noun = '', verb = '']: string[]): string {
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
  const name = wordsOf(words)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) return summariesOf(words[0] ?? '')
  const named = Object.entries(command.options).map(([name, option]) => [nameOf(name, option), option.meaning] as const)
  const width = Math.max(...named.map(([shown]) => shown.length))
  const options = named.map(([shown, meaning]) => `  ${shown.padEnd(width)}  ${meaning}`)
  const parts = [command.summary, `Usage:\n${usageOf([name, command])}`, options.join('\n'), command.notes?.() ?? '']
  return parts.filter(part => part !== '').join('\n\n')
}

/** A line for each command of a noun, or for all commands if the noun is unknown. */
function summariesOf(noun: string): string {
  const names = namesOf(noun)
  const shown = Object.entries(commands).filter(([name]) => names.length === 0 || names.includes(name))
  const width = Math.max(...shown.map(([name]) => name.length))
  const lines = shown.map(([name, { summary }]) => `  ${name.padEnd(width)}  ${firstSentence(summary)}`)
  return `The commands are:\n${lines.join('\n')}\n"help NOUN VERB" explains one of them.`
}

function namesOf(noun: string): string[] {
  return Object.keys(commands).filter(name => name.startsWith(`${noun} `))
}

function firstSentence(text: string): string {
  return text.replace(/[.:] .*/s, '.')
}

/** A command with more options shows those that are required. The help explains the others. */
const shownOptions = 10

function usageOf([name, { options }]: [string, OperatorCommand]): string {
  const all = Object.entries(options)
  const shown = all.length <= shownOptions ? all : all.filter(([, { required }]) => required)
  const words = shown.map(([name, option]) => {
    const word = nameOf(name, option) + (option.flag || option.operand ? '' : ' …')
    return option.required ? word : `[${word}]`
  })
  return `  ${[name, ...words, ...(shown === all ? [] : ['[options]'])].join(' ')}`
}
