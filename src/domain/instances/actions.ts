// What each action does to an instance in each state. `Instance.actions` and the commands both ask here.

import { type DomainError, instanceDestroyed, invalidState, notFound } from '../errors.ts'
import { type Reason, type ReasonCode, reasonMessages } from '../reasons.ts'
import type { Instance } from './instances.ts'
import { type InstanceStatus, isFinal, type TargetState } from './states.ts'

export const instanceActions = ['start', 'stop', 'reboot', 'recycle', 'updateBid', 'destroy'] as const
export type InstanceAction = (typeof instanceActions)[number]

export type ActionState = Pick<Instance, 'targetState' | 'status' | 'destroyedAt'>
type RestartState = ActionState & Pick<Instance, 'restart' | 'startedAt'>

/** The facts that decide each action. */
type FactsOf = {
  start: ActionState
  stop: ActionState
  reboot: RestartState
  recycle: RestartState
  updateBid: ActionState & Pick<Instance, 'interruptible'>
  destroy: ActionState
}
export type ActionFacts = RestartState & FactsOf['updateBid']

/** `unchanged`: the instance is already as the action would make it. The command succeeds and changes nothing. */
type Verdict = { outcome: 'applied' } | { outcome: 'unchanged' | 'refused'; reason: Reason }

type ActionAvailability = { action: InstanceAction; available: boolean; reason: Reason | null }

export function availabilityOf(instance: ActionFacts): ActionAvailability[] {
  return instanceActions.map(action => {
    const verdict = judgeAction(action, instance)
    const reason = verdict.outcome === 'applied' ? null : verdict.reason
    return { action, available: reason === null, reason }
  })
}

export function judgeAction<Action extends InstanceAction>(action: Action, instance: FactsOf[Action]): Verdict {
  if (!instance.destroyedAt) return rules[action](instance)
  return action === 'destroy' ? unchanged('DESTROYED') : refused('DESTROYED')
}

/** Whether the action changes the instance. Throws if it is refused. */
export function requireAction<Action extends InstanceAction>(
  action: Action,
  id: bigint,
  instance: FactsOf[Action],
): boolean {
  const verdict = judgeAction(action, instance)
  if (verdict.outcome === 'refused') throw actionError(id, verdict.reason)
  return verdict.outcome === 'applied'
}

/** The error of a command whose action is refused for this reason. */
export function actionError(id: bigint, { code, message }: Reason): DomainError<'INVALID_STATE'> {
  if (code === 'DESTROYED') return instanceDestroyed(id)
  return invalidState(id, message, code === 'FIXED_PRICE' ? 'fixedPrice' : null)
}

/** What was found of an account's instance. Throws if nothing was, and if the instance is destroyed. */
export function requireLiving<Row extends Pick<Instance, 'destroyedAt'>>(id: bigint, row: Row | undefined): Row {
  if (!row) throw notFound('Instance', id)
  if (row.destroyedAt) throw instanceDestroyed(id)
  return row
}

/** A requested change. An absent field stays as it is. Null removes the label, and so does "", which only REST accepts. */
export type InstanceChange = { targetState?: TargetState | undefined; label?: string | null | undefined }

/** The fields that a change writes, or why it is refused. Fields that already match are left out. */
export function decideChange(
  instance: ActionState & { label: string | null },
  { targetState, label }: InstanceChange,
): { changes: { targetState?: TargetState; label?: string | null } } | { refusal: Reason } {
  const verdict = targetState && judgeAction(targetState === 'running' ? 'start' : 'stop', instance)
  if (verdict?.outcome === 'refused') return { refusal: verdict.reason }
  return {
    changes: {
      ...(targetState && verdict?.outcome === 'applied' ? { targetState } : {}),
      ...(label !== undefined && (label || null) !== instance.label ? { label: label || null } : {}),
    },
  }
}

const reason = (code: ReasonCode, message: string = reasonMessages[code]): Reason => ({ code, message })
const unchanged = (...about: Parameters<typeof reason>): Verdict => ({ outcome: 'unchanged', reason: reason(...about) })
const refused = (...about: Parameters<typeof reason>): Verdict => ({ outcome: 'refused', reason: reason(...about) })
const terminal = (status: InstanceStatus) => refused('TERMINAL', finalStatusRefusal(status))
const applied: Verdict = { outcome: 'applied' }

const rules: { [Action in InstanceAction]: (instance: FactsOf[Action]) => Verdict } = {
  start({ status, targetState }) {
    if (isFinal(status)) return terminal(status)
    return targetState === 'running' ? unchanged('ALREADY_RUNNING') : applied
  },
  stop({ status, targetState }) {
    if (isFinal(status)) return unchanged('TERMINAL', `The instance has the status ${status}, so it is not running.`)
    return targetState === 'stopped' ? unchanged('ALREADY_STOPPED') : applied
  },
  reboot({ status, targetState, restart, startedAt }) {
    if (isFinal(status)) return terminal(status)
    // A pending restart will start the container anyway. So a caller who repeats a lost request gets one restart.
    if (restart !== null && startedAt !== null && targetState === 'running') return unchanged('ALREADY_RESTARTING')
    if (status !== 'running') {
      const message = `The instance has the status ${status}. Only a running instance can be rebooted.`
      return refused('NOT_RUNNING', message)
    }
    if (targetState === 'running') return applied
    return refused('STOP_REQUESTED', 'The instance is about to stop. To keep it running, start it.')
  },
  recycle({ status, restart }) {
    if (isFinal(status)) return terminal(status)
    if (restart === 'recycle' || restart === 'anew') return unchanged('ALREADY_RESTARTING')
    const message = 'The instance has no container yet, so there is nothing to recycle.'
    return status === 'created' ? refused('NO_CONTAINER', message) : applied
  },
  updateBid({ status, interruptible }) {
    const message = 'The instance is rented on demand at a fixed price. Only an interruptible instance has a bid.'
    if (!interruptible) return refused('FIXED_PRICE', message)
    return isFinal(status) ? terminal(status) : applied
  },
  destroy: () => applied,
}

export function finalStatusRefusal(status: InstanceStatus): string {
  return `The instance has the status ${status} and never runs again. Destroy it and rent a new one.`
}
