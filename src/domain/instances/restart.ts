import { invalidState } from '../errors.ts'
import { actionRefusal, type Instance } from './instances.ts'
import { isFinal, type Restart, type RestartKind } from './states.ts'

/** An instance that is not destroyed, as far as restarting it is concerned. */
export type Restartable = Pick<Instance, 'id' | 'targetState' | 'status' | 'interruptible'> & {
  restart: Restart | null
  hasRun: boolean
}

/** What is asked of its machine, or nothing where that is under way. Refused by throwing. */
export function decideRestart(instance: Restartable, kind: RestartKind): RestartKind | undefined {
  if (!isFinal(instance.status) && isUnderWay[kind](instance)) return undefined
  const refusal = actionRefusal(kind, { ...instance, destroyedAt: null })
  if (refusal) throw invalidState(instance.id, refusal)
  return kind
}

/** Whoever asks again, since no answer came, gets what he asked for once. */
const isUnderWay: Record<RestartKind, (instance: Restartable) => boolean> = {
  // What is made anew starts anew, too, and so does what goes down or comes up after it ran.
  reboot: ({ targetState, status, hasRun, restart }) =>
    targetState === 'running' && hasRun && (restart !== null || status === 'stopping' || status === 'loading'),
  recycle: ({ restart }) => restart === 'recycle' || restart === 'anew',
}
