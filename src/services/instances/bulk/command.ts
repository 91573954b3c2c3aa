import { type Transaction, transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { DomainError, invalidInput } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import {
  type CommandSubject,
  checkExpectation,
  checkMatchedCount,
  checkTarget,
  type InstanceCommand,
  type InstanceTarget,
  type ItemPlan,
  maxInstancesPerCommand,
  planCommand,
} from '../../../domain/instances/command.ts'
import type { InstanceChange } from '../../../domain/instances/instances.ts'
import { checkLabel } from '../../../domain/launch/launch.ts'
import { requireCredit } from '../../accounts/accounts.ts'
import { authorizeEach } from '../../authorize.ts'
import { type AccountBalance, lockAccount, readBalance } from '../../billing/balance.ts'
import { checkStartLimits } from '../../billing/limits/check.ts'
import type { Deps } from '../../deps.ts'
import { unaffordableStarts } from '../admission.ts'
import { type LockedInstance, lockTarget } from '../lock.ts'
import { loadStartRefusals } from '../policy/facts.ts'
import { applyPlans } from './apply-plans.ts'
import { updateMarkets } from './update-markets.ts'

export type CommandOptions = {
  allOrNothing?: boolean
  /** Return the plans without applying them. */
  dryRun?: boolean
  /** Refuse the command unless exactly this many instances match. */
  expectedCount?: number | undefined
  /** Most instances; fewer over REST. */
  limit?: number
}

export function commandServices(deps: Deps) {
  const { database, admission } = deps
  return {
    /**
     * Changes the target state or the label of instances. Each change succeeds or fails on its own unless
     * `allOrNothing` is set.
     */
    async update(
      actor: Actor,
      target: InstanceTarget,
      change: InstanceChange,
      options: CommandOptions = {},
    ): Promise<ItemPlan[]> {
      const facts = { relabels: change.label !== undefined, starts: change.targetState === 'running' }
      authorizeEach(actor, 'instances.update', idsOf(target), facts)
      checkTarget(target, options.limit ?? maxInstancesPerCommand)
      const issue = change.label ? checkLabel(change.label) : undefined
      if (issue) throw invalidInput([issue])
      if (change.targetState === undefined && change.label === undefined) {
        const issues = [{ path: 'label', message: 'must be given, since nothing else changes.' }]
        throw new DomainError('INVALID_INPUT', 'The request changes nothing: give a state or a label.', { issues })
      }
      return await runCommand(actor, target, { kind: 'change', change }, options)
    },

    /** Ends rentals. An instance that is already destroyed stays unchanged. */
    async destroy(actor: Actor, target: InstanceTarget, options: CommandOptions = {}): Promise<ItemPlan[]> {
      authorizeEach(actor, 'instances.destroy', idsOf(target))
      checkTarget(target, options.limit ?? maxInstancesPerCommand)
      checkExpectation(target, options.expectedCount, options.dryRun ?? false)
      return await runCommand(actor, target, { kind: 'destroy' }, options)
    },
  }

  /**
   * Applies all plans in one transaction. Then the markets of the machines are updated, whose failure does not fail the
   * command: see `updateMarkets`. The number of statements does not depend on the number of instances.
   */
  async function runCommand(
    actor: Actor,
    target: InstanceTarget,
    command: InstanceCommand,
    { allOrNothing = false, dryRun = false, expectedCount, limit = maxInstancesPerCommand }: CommandOptions,
  ): Promise<ItemPlan[]> {
    const { plans, machines } = await transaction(database, async tx => {
      const { at } = tx
      const starts = isStart(command)
      if (starts) await requireCredit(tx, actor, at)
      const locked = await lockTarget(tx, actor, target, limit)
      checkMatchedCount(locked.length, expectedCount)
      const ids = 'ids' in target ? target.ids : locked.map(({ subject }) => subject.id)
      const { plans, account } = starts
        ? await planStarts(tx, actor, { ids, locked, command }, { allOrNothing, dryRun })
        : { plans: planCommand(ids, subjectsOf(locked), command, allOrNothing) }
      const cause = { actor: apiKeyActor(actor), reason: 'USER_REQUEST' } as const
      const machines = dryRun ? [] : await applyPlans(tx, cause, plans, locked, at)
      if (account) await checkStartLimits(tx, actor, account, startsIn(plans, locked), { dryRun })
      return { plans, machines }
    })
    await updateMarkets(deps, machines)
    return plans
  }

  /** Starts that neither a policy nor the account's admission refuses. Locks the account unless it is a dry run. */
  async function planStarts(
    tx: Transaction,
    actor: Actor,
    { ids, locked, command }: { ids: readonly bigint[]; locked: LockedInstance[]; command: InstanceCommand },
    { allOrNothing, dryRun }: { allOrNothing: boolean; dryRun: boolean },
  ): Promise<{ plans: ItemPlan[]; account?: AccountBalance }> {
    const subjects = subjectsOf(locked)
    const refusals = await loadStartRefusals(tx, ids, tx.at)
    const starts = startsIn(planCommand(ids, subjects, command, false, refusals), locked)
    if (starts.length === 0) return { plans: planCommand(ids, subjects, command, allOrNothing, refusals) }
    const account = await (dryRun ? readBalance : lockAccount)(tx, actor.accountId, tx.at)
    const unaffordable = await unaffordableStarts(tx, admission, account, starts)
    const allRefusals = new Map([...refusals, ...unaffordable])
    return { plans: planCommand(ids, subjects, command, allOrNothing, allRefusals), account }
  }
}

function isStart(command: InstanceCommand): boolean {
  return command.kind === 'change' && command.change.targetState === 'running'
}

function subjectsOf(locked: readonly LockedInstance[]): CommandSubject[] {
  return locked.map(({ subject }) => subject)
}

/** The instances that the plans start, each once, in the order of the plans. */
function startsIn(
  plans: readonly ItemPlan[],
  locked: readonly LockedInstance[],
): { id: bigint; gpuPriceNanos: bigint }[] {
  const started = plans.filter(plan => plan.outcome === 'applied' && plan.targetState === 'running')
  const prices = new Map(locked.map(({ subject, gpuPriceNanos }) => [subject.id, gpuPriceNanos]))
  return [...new Set(started.map(({ id }) => id))].map(id => ({ id, gpuPriceNanos: prices.get(id) ?? 0n }))
}

/**
 * The ids that the key must be allowed to change. A key with a constraint on the id may use a filter only together with ids:
 * otherwise it could find out which other instances match.
 */
function idsOf(target: InstanceTarget): readonly bigint[] {
  return ('ids' in target ? target.ids : target.filter.ids) ?? []
}
