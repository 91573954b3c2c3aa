// A container that does not exist: instants that say when it will be ready, up and down. Nothing happens by itself, so
// everybody who reads it at the same time sees the same.

import type { ContainerSpec, Observed } from '../domain/instances/containers.ts'
import { appendEntries, type LogEntry, type NewLogEntry, pullEntries } from './simulated-log.ts'
import { type Script, scriptOf } from './simulated-script.ts'
import { runScript, type Surroundings } from './simulated-shell.ts'

export type Container = {
  machineId: number
  /** When its image is there. */
  preparedAt: Date
  /** When it is up, after it was last started. */
  upAt: Date | null
  /** When it is down, after it was last stopped. */
  downAt: Date | null
  /** Set when it ends by itself; from the instant on, or at once without one. */
  exitCode: number | null
  endsAt: Date | null
  sshKeys: string[]
  made: MadeFrom
  log: LogEntry[]
}

/** What it was made of, without anything secret, and what its image makes it do. */
export type MadeFrom = Surroundings & {
  script: Script
  image: string
  mode: ContainerSpec['launch']['mode']
  args: string[]
}

/** How long something takes, in milliseconds, as the factor has it. */
export type Scale = (ms: number) => number

/** A running container prints how it does, so often. */
const reportMs = 60_000

export function makeContainer(
  { instanceId, machineId, launch, gpus, diskMb, sshKeys }: ContainerSpec,
  now: Date,
  scale: Scale,
): Container {
  const { image, mode, args, hostname, env, onStart } = launch
  const script = scriptOf(image)
  const preparedAt = addMs(now, scale(script.pullMs))
  const made: MadeFrom = {
    ...{ script, image, mode, args, gpus, diskMb, onStart },
    hostname: hostname ?? `berth-${instanceId}`,
    env: env.map(({ name, value, secret }) => ({ name, value: secret ? null : value })),
  }
  const pull = pullEntries(image, script.fails === 'pull', now.getTime(), preparedAt.getTime())
  // Behind all numbers that a container of the same instance had before: none prints a thousand lines a millisecond.
  const log = appendEntries([], now.getTime(), pull, now.getTime() * 1_000)
  return { machineId, preparedAt, upAt: null, downAt: null, exitCode: null, endsAt: null, sshKeys, made, log }
}

export function observedOf(
  { preparedAt, upAt, downAt, exitCode, endsAt, sshKeys, made }: Container,
  now: Date,
): Observed {
  const { fails } = made.script
  if (exitCode !== null && (endsAt === null || endsAt <= now)) {
    return { state: 'exited', exitCode, sshKeys, ...(endsAt && { endedAt: endsAt }) }
  }
  if (downAt) return downAt <= now ? { state: 'stopped', sshKeys } : { state: 'stopping', until: downAt }
  if (upAt && upAt > now) return { state: 'starting', until: upAt }
  if (upAt && fails === 'start') {
    return { state: 'failed', code: 'START_FAILED', message: 'Its container could not be started.' }
  }
  if (upAt) return { state: 'running', sshKeys, ...(endsAt && { until: endsAt }) }
  if (preparedAt > now) return { state: 'preparing', until: preparedAt }
  if (fails !== 'pull') return { state: 'prepared', sshKeys }
  return { state: 'failed', code: 'IMAGE_PULL_FAILED', message: `There is no image ${made.image}.` }
}

/** What it is after it was started; undefined where that changes nothing. */
export function startContainer(container: Container, now: Date, scale: Scale): Container | undefined {
  const { state } = observedOf(container, now)
  if (state !== 'prepared' && state !== 'stopped' && state !== 'exited') return undefined
  const { script } = container.made
  const upAt = addMs(now, scale(script.startMs))
  const endsAt = script.end ? addMs(upAt, scale(script.end.afterMs)) : null
  const log = appendEntries(container.log, now.getTime(), runEntries(container.made, now, upAt, endsAt))
  return { ...container, upAt, downAt: null, endsAt, exitCode: script.end?.exitCode ?? null, log }
}

/** What it is after it was told to stop; undefined where that changes nothing. What was to end by itself does not. */
export function stopContainer(container: Container, now: Date, scale: Scale): Container | undefined {
  const { state } = observedOf(container, now)
  if (state !== 'starting' && state !== 'running') return undefined
  const downAt = addMs(now, scale(container.made.script.stopMs))
  const entries = [machineEntry(now, 'It was told to stop.'), machineEntry(downAt, 'It is down.')]
  return {
    ...container,
    downAt,
    endsAt: null,
    exitCode: null,
    log: appendEntries(container.log, now.getTime(), entries),
  }
}

function runEntries(made: MadeFrom, now: Date, upAt: Date, endsAt: Date | null): NewLogEntry[] {
  const { script, mode, args, gpus, onStart } = made
  const first = machineEntry(now, `Starting on GPU ${gpus.join(', ')}.`)
  if (script.fails === 'start') return [first, machineEntry(upAt, 'It could not be started.')]
  const at = upAt.getTime()
  const service = mode === 'args' ? `Running ${[made.image, ...args].join(' ')}` : serviceLines[mode]
  const print = (text: string, source: 'stdout' | 'stderr' = 'stdout'): NewLogEntry => ({ at, text, source })
  const begun =
    mode === 'args' || onStart === null
      ? []
      : [print('Running onstart'), ...runScript(made, onStart).map(text => print(text))]
  const report: NewLogEntry = {
    ...print(gpus.map((_, index) => `GPU ${index}: # % busy`).join(', ')),
    ...{ at: at + reportMs, everyMs: reportMs, until: endsAt?.getTime() ?? null },
  }
  const ended =
    endsAt && script.end ? [machineEntry(endsAt, `It ended by itself, with exit code ${script.end.exitCode}.`)] : []
  return [first, machineEntry(upAt, 'It is up.'), print(service), ...begun, report, ...ended]
}

const serviceLines = {
  sshDirect: 'SSH listens on port 22',
  sshProxy: 'SSH waits for the proxy',
  jupyterDirect: 'The notebook listens on port 8080, SSH on port 22',
  jupyterProxy: 'The notebook and SSH wait for the proxy',
}

function machineEntry(at: Date, text: string): NewLogEntry {
  return { at: at.getTime(), text, source: 'machine' }
}

function addMs(instant: Date, ms: number): Date {
  return new Date(instant.getTime() + ms)
}
