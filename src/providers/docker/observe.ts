import type { ContainerRef, Observed } from '../../domain/instances/containers.ts'
import { lacksCommand } from './bad-command.ts'
import { type Container, findContainer } from './container.ts'
import { EngineError } from './engine/error.ts'
import { badCommandFailure, startFailure } from './failures.ts'
import { readSshKeys } from './files.ts'
import type { Machine } from './machine.ts'
import type { Preparations } from './making/preparations.ts'
import type { Readiness } from './readiness.ts'
import type { Stops } from './stops.ts'

export type ObserveDeps = { preparations: Preparations; readiness: Readiness; stops: Stops; now: () => Date }

/** Between these times, a container that changes is looked at again. Most images are there and start at once. */
const [soonestMs, latestMs] = [250, 2_000]

export async function observeContainer(
  deps: ObserveDeps,
  machine: Machine,
  ref: ContainerRef,
  signal: AbortSignal,
): Promise<Observed> {
  const container = await findContainer(machine, ref, signal)
  if (!container || container.phase === 'making') return observedPreparation(deps, ref)
  switch (container.State.Status) {
    case 'running':
    case 'paused':
      return await observeRunning(deps, machine, container, ref, signal)
    case 'restarting':
      return { state: 'starting' }
    case 'removing':
      return { state: 'stopping' }
    case 'created':
    case 'exited':
    case 'dead':
      return await observeIdle(machine, container, signal)
  }
}

function observedPreparation({ preparations, now }: ObserveDeps, ref: ContainerRef): Observed {
  const preparation = preparations.find(ref)
  if (!preparation) return { state: 'absent' }
  if (preparation.failure) return { state: 'failed', ...preparation.failure }
  return { state: 'preparing', until: nextLookAt(preparation.begunAt, now()) }
}

async function observeRunning(
  { readiness, stops, now }: ObserveDeps,
  machine: Machine,
  container: Container,
  { instanceId }: ContainerRef,
  signal: AbortSignal,
): Promise<Observed> {
  if (container.phase !== 'complete') {
    // The gateway that began the stop may be gone.
    stops.send(machine, container)
    return { state: 'stopping' }
  }
  if (!(await readiness.isReady(machine, container, instanceId, signal))) {
    return { state: 'starting', until: nextLookAt(new Date(container.State.StartedAt), now()) }
  }
  return { state: 'running', sshKeys: await readSshKeys(machine, container.Id, signal) }
}

async function observeIdle(machine: Machine, container: Container, signal: AbortSignal): Promise<Observed> {
  const { Id, phase, State } = container
  if (phase === 'refused') return { state: 'failed', ...refusalOf(container) }
  const sshKeys = await readSshKeys(machine, Id, signal)
  if (State.Status === 'created') return { state: 'prepared', sshKeys }
  if (phase === 'stopping') return { state: 'stopped', sshKeys }
  if (await lacksCommand(machine, container, signal)) return { state: 'failed', ...badCommandFailure }
  return { state: 'exited', exitCode: State.ExitCode, sshKeys, endedAt: new Date(State.FinishedAt) }
}

/** The engine keeps why it could not start a container. One that it started was refused for its GPUs. */
function refusalOf({ State }: Container) {
  const error = State.Error || 'could not select device driver'
  return startFailure(new EngineError(500, error)).failure
}

function nextLookAt(begunAt: Date, now: Date): Date {
  const elapsedMs = now.getTime() - begunAt.getTime()
  return new Date(now.getTime() + Math.min(Math.max(soonestMs, elapsedMs / 2), latestMs))
}
