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
