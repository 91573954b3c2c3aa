import { transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError, invalidInput } from '../../domain/errors.ts'
import { apiKeyActor } from '../../domain/events/actor.ts'
import { checkInstanceIds, type InstanceCommand, type ItemPlan, planCommand } from '../../domain/instances/command.ts'
import type { InstanceChange } from '../../domain/instances/instances.ts'
import { checkLabel } from '../../domain/launch/launch.ts'
import { requireCredit } from '../accounts/accounts.ts'
import { authorizeEach } from '../authorize.ts'
import { checkStartLimits } from '../billing/limits/check.ts'
import type { Deps } from '../deps.ts'
import { unaffordableStarts } from './admission.ts'
import { applyPlans, lockInstances, updateMarkets } from './apply-plans.ts'
import { loadStartRefusals } from './policy/facts.ts'

export type CommandOptions = {
  allOrNothing?: boolean
  /** Return the plans without applying them. */
  dryRun?: boolean
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
      ids: readonly bigint[],
      change: InstanceChange,
      options: CommandOptions = {},
    ): Promise<ItemPlan[]> {
      authorizeEach(actor, 'instances.update', ids, { relabels: change.label !== undefined })
      checkInstanceIds(ids)
      const issue = change.label === undefined ? undefined : checkLabel(change.label)
      if (issue) throw invalidInput([issue])
      if (change.targetState === undefined && change.label === undefined) {
        throw new DomainError('INVALID_INPUT', 'The request changes nothing: give a state or a label.', { issues: [] })
      }
      return await runCommand(actor, ids, { kind: 'change', change }, options)
    },

    /** Ends rentals. An instance that is already destroyed stays unchanged. */
    async destroy(actor: Actor, ids: readonly bigint[], options: CommandOptions = {}): Promise<ItemPlan[]> {
      authorizeEach(actor, 'instances.destroy', ids)
      checkInstanceIds(ids)
      return await runCommand(actor, ids, { kind: 'destroy' }, options)
    },
  }

  /**
   * Applies all plans in one transaction. Then each machine's market is updated in a transaction of its own, whose failure
   * does not fail the command: see `updateMarkets`.
   */
  async function runCommand(
    actor: Actor,
    ids: readonly bigint[],
    command: InstanceCommand,
    { allOrNothing = false, dryRun = false }: CommandOptions,
  ): Promise<ItemPlan[]> {
    const { plans, machines } = await transaction(database, async tx => {
      const { at } = tx
      if (command.kind === 'change' && command.change.targetState === 'running') await requireCredit(tx, actor, at)
      const locked = await lockInstances(tx, ids, actor.accountId)
      const starts = command.kind === 'change' && command.change.targetState === 'running'
      const subjects = locked.map(({ subject }) => subject)
      const refusals = starts ? await loadStartRefusals(tx, ids, at) : undefined
      const possiblePlans = planCommand(ids, subjects, command, false, refusals)
      const unaffordable = await unaffordableStarts(tx, admission, actor, possiblePlans, { dryRun, at })
      const plans = planCommand(ids, subjects, command, allOrNothing, new Map([...(refusals ?? []), ...unaffordable]))
      const cause = { actor: apiKeyActor(actor), reason: 'USER_REQUEST' } as const
      const machines = dryRun ? [] : await applyPlans(tx, cause, plans, locked, at)
      await checkStartLimits(tx, actor, plans, { dryRun, at })
      return { plans, machines }
    })
    await updateMarkets(deps, machines)
    return plans
  }
}
