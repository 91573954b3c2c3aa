import type { ContainerRef } from '../../domain/instances/containers.ts'
import { ContainerNotRunning } from '../provider.ts'
import { unlessMissing } from './engine/error.ts'
import type { Machine, MachineOf } from './machine.ts'
import { containerName, labelFilter, labels, labelsOf, type Phase, phaseOf } from './names.ts'

export type DeviceRequest = { Driver: string; DeviceIDs: string[] | null; Capabilities?: string[][] | null }

/** A container as the engine describes it. */
export type Inspected = {
  Id: string
  Name: string
  State: {
    Status: 'created' | 'running' | 'paused' | 'restarting' | 'removing' | 'exited' | 'dead'
    Running: boolean
    ExitCode: number
    Error: string
    StartedAt: string
    FinishedAt: string
  }
  Config: { Entrypoint: string[] | null; Labels: Record<string, string> }
  HostConfig: { DeviceRequests?: DeviceRequest[] | null }
}
export type Container = Inspected & { phase: Phase }
export type Listed = { Id: string; Names: string[]; Labels: Record<string, string> }

export async function listContainers(
  { client, engine }: Machine,
  others: Record<string, string | bigint>,
  signal: AbortSignal,
): Promise<Listed[]> {
  const query = { all: 1, filters: labelFilter(engine, others) }
  return await client.call<Listed[]>('GET', '/containers/json', { query, signal })
}

/** The container of an instance. One whose files are not complete is found if there is no other. */
export async function findContainer(
  machine: Machine,
  ref: Omit<ContainerRef, 'machineId'>,
  signal: AbortSignal,
): Promise<Container | undefined> {
  const listed = await listContainers(machine, labelsOf(ref), signal)
  const isMaking = ({ Names }: Listed) => phaseOf(Names[0] ?? '') === 'making'
  const found = listed.find(one => !isMaking(one)) ?? listed[0]
  return found && (await inspectContainer(machine, found.Id, signal))
}

async function inspectContainer({ client }: Machine, id: string, signal: AbortSignal): Promise<Container | undefined> {
  const inspected = await unlessMissing(client.call<Inspected>('GET', `/containers/${id}/json`, { signal }))
  return inspected && { ...inspected, phase: phaseOf(inspected.Name) }
}

/** The containers with GPUs that run on the engine, whichever machine or Berth they belong to. */
export async function findRunningWithGpus(machine: Machine, signal: AbortSignal): Promise<Container[]> {
  const query = { filters: { label: [labels.gpus] } }
  const listed = await machine.client.call<Listed[]>('GET', '/containers/json', { query, signal })
  const found = await Promise.all(listed.map(({ Id }) => inspectContainer(machine, Id, signal)))
  return found.filter(one => one !== undefined)
}

type Found = { machine: Machine; container: Container & ContainerRef }

/** Finds containers on the machines that have them. */
export function createFinder(machineOf: MachineOf) {
  /** Undefined if there is no container, or only one whose files are not complete. */
  async function find(ref: ContainerRef, signal: AbortSignal): Promise<Found | undefined> {
    const machine = await machineOf(ref.machineId, signal)
    const container = await findContainer(machine, ref, signal)
    signal.throwIfAborted()
    if (!container || container.phase === 'making') return undefined
    const { machineId, instanceId, accountId } = ref
    return { machine, container: { ...container, machineId, instanceId, accountId } }
  }

  async function findRunning(ref: ContainerRef, signal: AbortSignal): Promise<Found> {
    const found = await find(ref, signal)
    if (found?.container.State.Running) return found
    throw new ContainerNotRunning(`The container of instance ${ref.instanceId} is not running.`)
  }

  return { find, findRunning }
}

export async function renameContainer(
  { client, engine }: Machine,
  { Id, instanceId }: { Id: string; instanceId: bigint },
  phase: Phase,
  signal: AbortSignal,
): Promise<void> {
  const query = { name: containerName(engine, instanceId, phase) }
  await client.call('POST', `/containers/${Id}/rename`, { query, signal })
}

export function wasStarted({ State }: Inspected): boolean {
  return !isNever(State.StartedAt)
}

/** The engine writes an instant that never came as one of the year 1. */
export function isNever(instant: string): boolean {
  return instant.startsWith('0001')
}

/** Whether the driver's own entrypoint runs, which says when it is ready. */
export function hasOwnEntrypoint({ Config }: Inspected): boolean {
  return Config.Entrypoint?.at(-1) === '/.berth/entry.sh'
}
