import { invalidState } from '../errors.ts'
import { actionRefusal, type Instance } from './instances.ts'
import { isFinal, type Restart, type RestartKind } from './states.ts'

/** The facts of an instance that decide a restart. The instance must not be destroyed. */
export type Restartable = Pick<Instance, 'id' | 'targetState' | 'status' | 'interruptible'> & {
  restart: Restart | null
  hasRun: boolean
}

/** The restart to write, or undefined when one is already under way. Throws when the restart is refused. */
export function decideRestart(instance: Restartable, kind: RestartKind): RestartKind | undefined {
  if (!isFinal(instance.status) && isUnderWay[kind](instance)) return undefined
  const refusal = actionRefusal(kind, { ...instance, destroyedAt: null })
  if (refusal) throw invalidState(instance.id, refusal)
  return kind
}

/** A caller who retries after a lost answer gets one restart. */
const isUnderWay: Record<RestartKind, (instance: Restartable) => boolean> = {
  // A recycle under way starts the container too. So does an instance that goes down or comes up after it ran.
  reboot: ({ targetState, status, hasRun, restart }) =>
    targetState === 'running' && hasRun && (restart !== null || status === 'stopping' || status === 'loading'),
  recycle: ({ restart }) => restart === 'recycle' || restart === 'anew',
}
