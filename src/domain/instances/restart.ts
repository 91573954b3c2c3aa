import { type ActionFacts, requireAction } from './actions.ts'
import type { RestartKind } from './states.ts'

/** The facts of an instance that decide a restart. */
export type Restartable = Omit<ActionFacts, 'interruptible'> & { id: bigint }

/** The restart to write, or undefined when one is already under way. Throws when the restart is refused. */
export function decideRestart(instance: Restartable, kind: RestartKind): RestartKind | undefined {
  return requireAction(kind, instance.id, instance) ? kind : undefined
}
