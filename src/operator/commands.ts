import { compose } from '../services/compose.ts'
import { accountCommands } from './accounts.ts'
import type { OperatorCommand } from './command.ts'
import { creditCommands } from './credit.ts'
import { databaseCommands } from './database.ts'
import { engineCommands } from './engines.ts'
import { failoverCommands } from './failovers.ts'
import { hostCommands } from './hosts.ts'
import { inviteCommands } from './invites.ts'
import { keyCommands } from './keys.ts'
import { machineCommands } from './machines.ts'
import { marketCommands } from './market.ts'
import { toolboxCommands } from './toolbox.ts'

/** The keys are "noun verb". Two lists with a command of the same name do not compile. */
const commands: Record<string, OperatorCommand> = compose(
  accountCommands,
  keyCommands,
  creditCommands,
  machineCommands,
  engineCommands,
  inviteCommands,
  hostCommands,
  marketCommands,
  toolboxCommands,
  failoverCommands,
  databaseCommands,
)

/** Finds a command and parses its options. An error in them ends with the command's usage. */
export function findCommand([noun = '', verb = '', ...args]: string[]) {
  const name = `${noun} ${verb}`
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command)
    throw new Error(`${noun ? `Unknown command "${name.trim()}".` : 'No command is given.'}\n${usageOfNoun(noun)}`)
  try {
    return { lock: command.lock, isLocal: command.isLocal === true, run: command.read(args) }
  } catch (error) {
    if (!isUsageError(error)) throw error
    throw new Error(`${error.message}\nUsage:\n${usageOf([name, command])}`)
  }
}

/** A domain error is about a value or a file's content, where the usage would not help. */
function isUsageError(error: unknown): error is Error {
  return error instanceof Error && error.name !== 'DomainError'
}

/** The help that the arguments ask for; undefined if they name a command to run. */
export function helpFor(args: string[]): string | undefined {
  if (!['help', '-h'].includes(args[0] ?? '') && !args.includes('--help')) return undefined
  const [noun = '', verb = ''] = args.filter(arg => arg !== 'help' && !arg.startsWith('-'))
  const name = `${noun} ${verb}`
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) return usageOfNoun(noun)
  const width = Math.max(...Object.keys(command.options).map(option => option.length))
  const options = Object.entries(command.options).map(([option, { meaning }]) => {
    return `  --${option.padEnd(width)}  ${meaning}`
  })
  const parts = [command.summary, `Usage:\n${usageOf([name, command])}`, options.join('\n'), command.notes?.() ?? '']
  return parts.filter(part => part !== '').join('\n\n')
}

/** The usage of a noun's commands, or of all commands if the noun is unknown. */
function usageOfNoun(noun: string): string {
  const ofNoun = Object.entries(commands).filter(([name]) => name.startsWith(`${noun} `))
  const shown = ofNoun.length > 0 ? ofNoun : Object.entries(commands)
  return `The commands are:\n${shown.map(usageOf).join('\n')}`
}

function usageOf([name, { options }]: [string, OperatorCommand]): string {
  const words = Object.entries(options).map(([option, { required, flag }]) => {
    const word = flag ? `--${option}` : `--${option} …`
    return required ? word : `[${word}]`
  })
  return `  ${[name, ...words].join(' ')}`
}
