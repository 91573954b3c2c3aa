export const targetStates = ['running', 'stopped'] as const
/** What is wished of an instance. */
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
/** What was last seen of an instance. */
export type InstanceStatus = (typeof instanceStatuses)[number]

/** From these an instance never reaches running again. */
export const finalStatuses: readonly InstanceStatus[] = ['exited', 'offline', 'unknown']

export function isFinal(status: InstanceStatus): boolean {
  return finalStatuses.includes(status)
}

/** To reboot is to stop and start the same container; to recycle, to make it anew, and its disk with it. */
export const restartKinds = ['reboot', 'recycle'] as const
export type RestartKind = (typeof restartKinds)[number]

/** What was asked for, until it is done: `anew` from when the old container is gone until the new one runs. */
export type Restart = RestartKind | 'anew'
