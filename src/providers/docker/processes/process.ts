import { PassThrough, Writable } from 'node:stream'
import { type CommandOutput, maxReadLength } from '../../../domain/instances/containers.ts'
import type { ContainerProcess } from '../../provider.ts'
import { brokenStreamError } from '../engine/error.ts'
import { copyOutput, splitOutputs } from '../engine/frames.ts'
import type { Machine } from '../machine.ts'
import { beginExec, type Command, type Exec, exitCodeOf, resizeExec } from './exec.ts'

const endOfTransmission = '\x04'
const neverAborted = new AbortController().signal

/** A process as the port has it. `sendSignal` reaches it and its children by a second exec. */
export async function openProcess(
  machine: Machine,
  containerId: string,
  command: Command,
  sendSignal: (name: string) => Promise<void>,
  signal: AbortSignal,
): Promise<ContainerProcess> {
  const exec = await beginExec(machine, containerId, command, signal)
  const { connection } = exec
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  let hasEnded = false
  let isHungUp = false
  connection.on('error', () => {})
  const exitCode = copyOutputs(exec, command, { stdout, stderr })
    .catch(error => {
      if (!isHungUp) throw error
    })
    .then(() => exitCodeOf(machine, exec))
    .finally(() => {
      hasEnded = true
      connection.destroy()
    })
  exitCode.catch(error => {
    stdout.destroy(error)
    stderr.destroy(error)
  })
  stdout.on('error', () => {})
  stderr.on('error', () => {})
  return {
    stdin: stdinOf(exec, command),
    stdout,
    stderr,
    exitCode,
    resize: async size => {
      if (!hasEnded) await resizeExec(machine, exec, size)
    },
    signal: async name => {
      if (!hasEnded) await sendSignal(name.replace(/^SIG/, ''))
    },
    hangUp: () => {
      if (hasEnded || isHungUp) return
      isHungUp = true
      // First: the engine begins no other process there while an ended one has output that nobody takes.
      connection.destroy()
      sendSignal('HUP').catch(() => {})
    },
  }
}

async function copyOutputs(
  { connection }: Exec,
  { terminal }: Command,
  outputs: { stdout: PassThrough; stderr: PassThrough },
): Promise<void> {
  try {
    await (terminal ? copyOutput(connection, outputs.stdout) : splitOutputs(connection, outputs))
  } catch (error) {
    throw brokenStreamError(error, neverAborted)
  }
  outputs.stdout.end()
  outputs.stderr.end()
}

/** The end of a terminal's input is a character: a closed connection would hang it up. */
function stdinOf({ connection }: Exec, { terminal }: Command): Writable {
  const stdin = new Writable({
    write: (chunk, _, done) => {
      if (connection.writable) connection.write(chunk, done)
      else done()
    },
    final: done => {
      if (!connection.writable) done()
      else if (terminal) connection.write(endOfTransmission, () => done())
      else connection.end(() => done())
    },
  })
  // A process may end before it has read its input.
  stdin.on('error', () => {})
  return stdin
}

/** Runs a program to its end. Output beyond `maxReadLength` is dropped. */
export async function runInContainer(
  machine: Machine,
  containerId: string,
  words: string[],
  signal: AbortSignal,
): Promise<CommandOutput> {
  const opened = await openProcess(machine, containerId, { words, terminal: null }, async () => {}, signal)
  return await readToEnd(opened, signal)
}

export async function readToEnd(opened: ContainerProcess, signal: AbortSignal): Promise<CommandOutput> {
  const { stdin, stdout, stderr, exitCode, hangUp } = opened
  stdin.end()
  signal.addEventListener('abort', hangUp)
  const decoder = new TextDecoder()
  let output = ''
  const keep = (chunk: Buffer) => {
    if (output.length < maxReadLength) output += decoder.decode(chunk, { stream: true })
  }
  stdout.on('data', keep)
  stderr.on('data', keep)
  const aborted = Promise.withResolvers<never>()
  const giveUp = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', giveUp)
  try {
    return { exitCode: await Promise.race([exitCode, aborted.promise]), output: output.slice(0, maxReadLength) }
  } finally {
    signal.removeEventListener('abort', hangUp)
    signal.removeEventListener('abort', giveUp)
  }
}
