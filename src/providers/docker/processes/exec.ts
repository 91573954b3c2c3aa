import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { ContainerNotRunning, MachineUnreachable, type Terminal } from '../../provider.ts'
import { EngineError } from '../engine/error.ts'
import type { Machine } from '../machine.ts'

export type Command = { words: string[]; terminal: Terminal | null }

/** A process that began in a container, and the raw connection to it. */
export type Exec = { id: string; connection: Duplex }

const resultTries = 8

/** Begins a process as root. The signal ends the beginning alone. */
export async function beginExec(
  { client }: Machine,
  containerId: string,
  { words, terminal }: Command,
  signal: AbortSignal,
): Promise<Exec> {
  const json = {
    ...{ AttachStdin: true, AttachStdout: true, AttachStderr: true, User: '0', Cmd: words },
    ...{ Tty: terminal !== null, Env: terminal ? [`TERM=${terminal.type}`] : [] },
  }
  try {
    const { Id: id } = await client.call<{ Id: string }>('POST', `/containers/${containerId}/exec`, { json, signal })
    const start = { Detach: false, Tty: terminal !== null }
    const connection = await client.upgrade(`/exec/${id}/start`, { json: start, signal })
    return { id, connection }
  } catch (error) {
    // The engine knows neither a container that is gone nor one that is down.
    const isDown = error instanceof EngineError && (error.status === 404 || error.status === 409)
    throw isDown ? new ContainerNotRunning('The container is not running.', { cause: error }) : error
  }
}

/** A process may have ended meanwhile: then nothing is resized. */
export async function resizeExec(
  { client }: Machine,
  { id }: Exec,
  size: { columns: number; rows: number },
): Promise<void> {
  const query = { w: size.columns, h: size.rows }
  const { signal } = new AbortController()
  await client.call('POST', `/exec/${id}/resize`, { query, signal }).catch((error: unknown) => {
    if (!(error instanceof EngineError)) throw error
  })
}

/** The exit code of a process whose output has ended. The engine may learn of the end a moment after that. */
export async function exitCodeOf({ client }: Machine, { id }: Exec): Promise<number> {
  const { signal } = new AbortController()
  for (let tries = 0; tries < resultTries; tries += 1) {
    if (tries > 0) await delay(10 * 2 ** tries)
    const { Running, ExitCode } = await client
      .call<{ Running: boolean; ExitCode: number | null }>('GET', `/exec/${id}/json`, { signal })
      .catch(throwLost)
    if (!Running && ExitCode !== null) return ExitCode
  }
  throw new MachineUnreachable('The engine lost the connection to a process.')
}

/** A restarted engine does not know its earlier processes. */
function throwLost(error: unknown): never {
  if (!(error instanceof EngineError)) throw error
  throw new MachineUnreachable('The engine lost the connection to a process.', { cause: error })
}
