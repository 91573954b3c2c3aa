// A simulated container: the instants at which it is prepared, up and down. Its state follows from these and the time,
// so all readers see the same state at the same time.

import type { ContainerSpec, MachineShare, Observed } from '../../domain/instances/containers.ts'
import { appendEntries, type LogEntry, type NewLogEntry, pullEntries } from './log.ts'
import { type Script, scriptOf } from './script.ts'
import { runScript, type Surroundings } from './shell.ts'

export type Container = {
  machineId: number
  /** When its image is pulled. */
  preparedAt: Date
  /** When it is up after its last start. */
  upAt: Date | null
  /** When it is down after its last stop. */
  downAt: Date | null
  /** The code with which it exits by itself: at `endsAt`, or at once if that is null. */
  exitCode: number | null
  endsAt: Date | null
  sshKeys: string[]
  made: MadeFrom
  log: LogEntry[]
}

/** What the container was made from, without secrets, and the script of its image. */
export type MadeFrom = Surroundings & {
  script: Script
  image: string
  mode: ContainerSpec['launch']['mode']
  args: string[]
  /** Null for containers of older versions, too. */
  share: MachineShare | null
}

/** Scales a duration in ms by the delay factor. */
export type Scale = (ms: number) => number

/** A running container prints a report at this interval. */
const reportMs = 60_000

export function makeContainer(
  { instanceId, machineId, launch, gpus, diskMb, share, sshKeys }: ContainerSpec,
  now: Date,
  scale: Scale,
): Container {
  const { image, mode, args, hostname, env, onStart } = launch
  const script = scriptOf(image)
  const preparedAt = addMs(now, scale(script.pullMs))
  const made: MadeFrom = {
    ...{ script, image, mode, args, gpus, diskMb, share, onStart },
    hostname: hostname ?? `berth-${instanceId}`,
    env: env.map(({ name, value, secret }) => ({ name, value: secret ? null : value })),
  }
  const pull = pullEntries(image, script.fails === 'pull', now.getTime(), preparedAt.getTime())
  // Higher than all numbers of the instance's earlier containers: no container prints 1,000 lines per millisecond.
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
    return { state: 'failed', code: 'START_FAILED', message: 'The container could not be started.' }
  }
  if (upAt) return { state: 'running', sshKeys, ...(endsAt && { until: endsAt }) }
  if (preparedAt > now) return { state: 'preparing', until: preparedAt }
  if (fails !== 'pull') return { state: 'prepared', sshKeys }
  return { state: 'failed', code: 'IMAGE_PULL_FAILED', message: `There is no image ${made.image}.` }
}

/** The container after a start; undefined if a start changes nothing. */
export function startContainer(container: Container, now: Date, scale: Scale): Container | undefined {
  const { state } = observedOf(container, now)
  if (state !== 'prepared' && state !== 'stopped' && state !== 'exited') return undefined
  const { script } = container.made
  const upAt = addMs(now, scale(script.startMs))
  const endsAt = script.end ? addMs(upAt, scale(script.end.afterMs)) : null
  const log = appendEntries(container.log, now.getTime(), runEntries(container.made, now, upAt, endsAt))
  return { ...container, upAt, downAt: null, endsAt, exitCode: script.end?.exitCode ?? null, log }
}

/** The container after a stop; undefined if a stop changes nothing. A stop cancels the exit that the script plans. */
export function stopContainer(container: Container, now: Date, scale: Scale): Container | undefined {
  const { state } = observedOf(container, now)
  if (state !== 'starting' && state !== 'running') return undefined
  const downAt = addMs(now, scale(container.made.script.stopMs))
  const entries = [machineEntry(now, 'The container is stopping.'), machineEntry(downAt, 'The container is down.')]
  return {
    ...container,
    downAt,
    endsAt: null,
    exitCode: null,
    log: appendEntries(container.log, now.getTime(), entries),
  }
}

/** A time in which a container ran. `end` is null while it runs. */
export type Run = { begin: Date; end: Date | null }

/** The times in which the container ran, oldest first, as far back as its log goes. */
export function runsOf({ log }: Pick<Container, 'log'>): Run[] {
  return log.flatMap(({ at, everyMs, until = null }) =>
    everyMs === undefined ? [] : [{ begin: new Date(at - everyMs), end: until === null ? null : new Date(until) }],
  )
}

function runEntries(made: MadeFrom, now: Date, upAt: Date, endsAt: Date | null): NewLogEntry[] {
  const { script, mode, args, gpus, onStart } = made
  const first = machineEntry(now, `Starting on GPU ${gpus.join(', ')}.`)
  if (script.fails === 'start') return [first, machineEntry(upAt, 'The container could not be started.')]
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
    endsAt && script.end ? [machineEntry(endsAt, `The container exited with code ${script.end.exitCode}.`)] : []
  return [first, machineEntry(upAt, 'The container is up.'), print(service), ...begun, report, ...ended]
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
