import { type Transaction, transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { invalidInput } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import type { InstanceChange } from '../../../domain/instances/actions.ts'
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
import { checkLabel } from '../../../domain/launch/launch.ts'
import { requireCredit } from '../../accounts/accounts.ts'
import { authorizeEach } from '../../authorize.ts'
import { type AccountBalance, lockAccount, readBalance } from '../../billing/balance.ts'
import { checkStartLimits } from '../../billing/limits/check.ts'
import type { Deps } from '../../deps.ts'
import { updateMarketsOf } from '../../machines/market.ts'
import { unaffordableStarts } from '../admission.ts'
import { type LockedInstance, lockTarget } from '../lock.ts'
import { loadStartRefusals } from '../policy/facts.ts'
import { applyPlans } from './apply-plans.ts'
import { dueAccounts } from './plan-writes.ts'
import { lockMarkets, updateMarkets } from './update-markets.ts'

export type CommandOptions = {
  allOrNothing?: boolean
  /** Return the plans without applying them. */
  dryRun?: boolean
  /** Refuse the command unless exactly this many instances match. */
  expectedCount?: number | undefined
  /** Most instances; fewer over REST. */
  limit?: number
}

type CommandRequest = {
  actor: Actor
  target: InstanceTarget
  command: InstanceCommand
  /** Whether the transaction updates the markets of those machines that it can lock. */
  updatesMarkets: boolean
  onMarketFailure(): void
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
      if (change.targetState === undefined && change.label === undefined)
        throw invalidInput([{ path: 'label', message: 'must be given, since nothing else changes.' }])
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
   * Applies all plans in one transaction. It also updates the markets of those machines that it could lock, so that the reconciler
   * finds each instance with the GPUs that the command gives it, and passes over it once. The markets of the others are updated
   * afterwards: see `updateMarkets`. If its own market update fails, all are, because a market that fails must not keep a renter
   * from stopping an instance. The number of statements does not depend on the number of instances.
   */
  async function runCommand(
    actor: Actor,
    target: InstanceTarget,
    command: InstanceCommand,
    options: CommandOptions,
  ): Promise<ItemPlan[]> {
    let haveMarketsFailed = false
    const onMarketFailure = () => {
      haveMarketsFailed = true
    }
    const run = () => {
      const request = { actor, target, command, updatesMarkets: !haveMarketsFailed, onMarketFailure }
      return transaction(database, tx => runInTransaction(tx, request, options))
    }
    const { plans, machines } = await run().catch((error: unknown) => {
      if (haveMarketsFailed) return run()
      throw error
    })
    await updateMarkets(deps, machines)
    return plans
  }

  async function runInTransaction(
    tx: Transaction,
    { actor, target, command, updatesMarkets, onMarketFailure }: CommandRequest,
    { allOrNothing = false, dryRun = false, expectedCount, limit = maxInstancesPerCommand }: CommandOptions,
  ): Promise<{ plans: ItemPlan[]; machines: number[] }> {
    const starts = isStart(command)
    if (starts) await requireCredit(tx, actor, tx.at)
    const markets = updatesMarkets && !dryRun ? await lockMarkets(tx, actor, target, command) : []
    const locked = await lockTarget(tx, actor, target, { limit, rivalsOn: markets })
    checkMatchedCount(locked.length, expectedCount)
    const ids = idsToPlan(target, locked)
    const { plans, account } = starts
      ? await planStarts(tx, actor, { ids, locked, command }, { allOrNothing, dryRun })
      : { plans: planCommand(ids, subjectsOf(locked), command, allOrNothing) }
    if (dryRun) {
      if (account) await checkStartLimits(tx, actor, account, startsIn(plans, locked), { dryRun })
      return { plans, machines: [] }
    }
    // After the locks of the machines, which move `tx.at`.
    const { at } = tx
    const moved = await applyPlans(tx, { actor: apiKeyActor(actor), reason: 'USER_REQUEST' }, plans, locked, at)
    if (account) await checkStartLimits(tx, actor, account, startsIn(plans, locked), { dryRun })
    const changed = markets.filter(({ id }) => moved.includes(id))
    await updateMarketsOf(tx, changed, at, dueAccounts(plans, locked, at)).catch((error: unknown) => {
      onMarketFailure()
      throw error
    })
    return { plans, machines: without(moved, changed) }
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

function idsToPlan(target: InstanceTarget, locked: readonly LockedInstance[]): readonly bigint[] {
  return 'ids' in target ? target.ids : locked.map(({ subject }) => subject.id)
}

function without(ids: readonly number[], machines: readonly { id: number }[]): number[] {
  return ids.filter(id => machines.every(machine => machine.id !== id))
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
