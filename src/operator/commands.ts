import { accountCommands } from './accounts.ts'
import type { Command } from './command.ts'
import { creditCommands } from './credit.ts'
import { keyCommands } from './keys.ts'
import { machineCommands } from './machines.ts'
import { marketCommands } from './market.ts'

/** By noun and verb. */
const commands: Record<string, Command> = {
  ...accountCommands,
  ...keyCommands,
  ...creditCommands,
  ...machineCommands,
  ...marketCommands,
}

/** The command that the first words name, and what is to be done with the rest; or an error that says how it is used. */
export function findCommand([noun = '', verb = '', ...args]: string[]) {
  const name = `${noun} ${verb}`
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) throw new Error(usageOfNoun(noun))
  try {
    return { lock: command.lock, run: command.read(args) }
  } catch (error) {
    if (!isUsageError(error)) throw error
    throw new Error(`${error.message}\nUsage:\n${usageOf([name, command])}`)
  }
}

/** Refusals of the domain speak of what was given, and files of themselves. */
function isUsageError(error: unknown): error is Error {
  return error instanceof Error && error.name !== 'DomainError'
}

/** What there is to read for who asks; undefined for a command that is to be run. */
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

/** Of one noun, when there is such a one. */
function usageOfNoun(noun: string): string {
  const ofNoun = Object.entries(commands).filter(([name]) => name.startsWith(`${noun} `))
  const shown = ofNoun.length > 0 ? ofNoun : Object.entries(commands)
  return `The commands are:\n${shown.map(usageOf).join('\n')}`
}

function usageOf([name, { options }]: [string, Command]): string {
  const words = Object.entries(options).map(([option, { required, flag }]) => {
    const word = flag ? `--${option}` : `--${option} …`
    return required ? word : `[${word}]`
  })
  return `  ${[name, ...words].join(' ')}`
}
