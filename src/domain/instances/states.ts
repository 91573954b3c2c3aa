import { printId } from '../ids.ts'

export const targetStates = ['running', 'stopped'] as const
/** What the renter wants of an instance. */
export type TargetState = (typeof targetStates)[number]

export const instanceStatuses = [
  'created',
  'scheduling',
  'loading',
  'running',
  'stopping',
  'stopped',
  'exited',
  'offline',
  'unknown',
] as const
/**
 * The status that renters see: `created` by the rental, then what the reconciler concludes from the target state, the
 * market and the observed container (`Observed`).
 */
export type InstanceStatus = (typeof instanceStatuses)[number]

/** From these statuses an instance never runs again. */
export const finalStatuses: readonly InstanceStatus[] = ['exited', 'offline', 'unknown']

export function isFinal(status: InstanceStatus): boolean {
  return finalStatuses.includes(status)
}

/** A reboot stops and starts the same container. A recycle makes the container and its disk anew. */
const restartKinds = ['reboot', 'recycle'] as const
export type RestartKind = (typeof restartKinds)[number]

/** The restart under way. `anew` lasts from when the old container is gone until the new one runs. */
export type Restart = RestartKind | 'anew'

export type RunningFacts = { id: bigint; status: InstanceStatus; targetState: TargetState }

/** Why an instance cannot be reached now, and what to do. Undefined while it runs. */
export function notRunningRefusal({ id, status, targetState }: RunningFacts): string | undefined {
  const name = printId('Instance', id)
  if (status === 'running') return undefined
  if (isFinal(status)) return `${name} has the status ${status} and never runs again. Destroy it, and rent another.`
  if (targetState === 'stopped') return `${name} is ${status}. Start it first.`
  if (status === 'scheduling') return `${name} waits for its GPUs. Try again when it runs.`
  return `${name} is starting. Try again when it runs.`
}
