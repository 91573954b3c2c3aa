// The shell of a simulated container. It knows a few commands.

import { type CommandOutput, maxReadLength } from '../../domain/instances/containers.ts'
import { splitWords } from '../../domain/launch/shell-words.ts'

/** The shell refuses a longer command line after it expands the variables, as a real one does. */
const maxLineLength = 131_072
const maxScriptLines = 100

/** What the shell can show of its container. */
export type Surroundings = {
  hostname: string
  gpus: number[]
  diskMb: number
  /** The value of a secret variable is null. */
  env: { name: string; value: string | null }[]
  onStart: string | null
}

type ShellCommand = (made: Surroundings, args: string[]) => CommandOutput

const commands: Record<string, ShellCommand> = {
  echo: (_, args) => printed(args.join(' ')),
  whoami: () => printed('root'),
  hostname: ({ hostname }) => printed(hostname),
  pwd: () => printed('/root'),
  env: made => printed(...variablesOf(made).map(([name, value]) => `${name}=${value}`)),
  ls: (made, args) => listFiles(made, args.find(arg => !arg.startsWith('-')) ?? '/root'),
  du: (made, args) => printed(`${4 + (made.diskMb % 4_096)}\t${args.find(arg => !arg.startsWith('-')) ?? '.'}`),
  cat: (made, args) => printFiles(made, args),
  'nvidia-smi': ({ gpus }) =>
    printed(...gpus.map((gpu, index) => `GPU ${index}: simulated (number ${gpu} of the machine)`)),
  // Real containers have this program for scp and sftp.
  '/.berth/bin/sftp-server': () => failed(127, 'This machine is simulated: it takes and gives no files.'),
}

export function runCommand(made: Surroundings, command: string): CommandOutput {
  const line = expandVariables(made, command)
  if (line === undefined) return failed(126, 'sh: Argument list too long')
  const words = splitWords(line)
  if (typeof words === 'string') return failed(2, 'sh: a quote is not closed')
  const [name = '', ...args] = words.map(({ text }) => text)
  if (name === '') return printed()
  const known = Object.hasOwn(commands, name) ? commands[name] : undefined
  return known ? known(made, args) : failed(127, `sh: ${name}: not found`)
}

/** The output of a script. Commands that fail or that the shell does not know print nothing. */
export function runScript(made: Surroundings, script: string): string[] {
  const printed: string[] = []
  let size = 0
  for (const line of script.split('\n')) {
    if (printed.length >= maxScriptLines || size >= maxReadLength) break
    const { exitCode, output } = runCommand(made, line)
    if (exitCode !== 0) continue
    size += output.length
    printed.push(...output.split('\n').slice(0, -1))
  }
  return printed.slice(0, maxScriptLines)
}

/** Secret values are masked. The simulation stores its data in the clear, so it does not have them. */
function variablesOf({ env, hostname }: Surroundings): [string, string][] {
  return [
    ['HOME', '/root'],
    ['HOSTNAME', hostname],
    ...env.map(({ name, value }): [string, string] => [name, value ?? '***']),
  ]
}

/** Expands the variables of a text; undefined if the result is too long. */
function expandVariables(made: Surroundings, text: string): string | undefined {
  const values = new Map(variablesOf(made))
  let room = maxLineLength - text.length
  const expanded = text.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced, bare) => {
    const value = values.get(braced ?? bare) ?? ''
    room -= value.length
    return room < 0 ? '' : value
  })
  return room < 0 ? undefined : expanded
}

function filesOf({ hostname, onStart }: Surroundings): Map<string, string> {
  const files = new Map([['/etc/hostname', `${hostname}\n`]])
  return onStart === null ? files : files.set('/root/onstart.sh', `${onStart}\n`)
}

function listFiles(made: Surroundings, path: string): CommandOutput {
  const folders = new Map([
    ['/', ['bin', 'etc', 'root', 'tmp', 'usr', 'workspace']],
    ['/etc', ['hostname']],
    ['/root', made.onStart === null ? [] : ['onstart.sh']],
    ['/workspace', []],
  ])
  const names = folders.get(path === '.' || path === '~' ? '/root' : path)
  return names ? printed(...names) : failed(2, `ls: ${path}: No such file or directory`)
}

function printFiles(made: Surroundings, paths: string[]): CommandOutput {
  const files = filesOf(made)
  const missing = paths.find(path => !files.has(path))
  if (missing !== undefined) return failed(1, `cat: ${missing}: No such file or directory`)
  let output = ''
  for (const path of paths) if (output.length < maxReadLength) output += files.get(path)
  return { exitCode: 0, output: output.slice(0, maxReadLength) }
}

function printed(...lines: string[]): CommandOutput {
  const output = lines.map(line => `${line}\n`).join('')
  return { exitCode: 0, output: output.slice(0, maxReadLength) }
}

function failed(exitCode: number, line: string): CommandOutput {
  return { exitCode, output: `${line}\n`.slice(0, maxReadLength) }
}
