import { transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError, invalidInput } from '../../domain/errors.ts'
import { type Command, checkIds, planCommand, type Step } from '../../domain/instances/command.ts'
import type { Change } from '../../domain/instances/instances.ts'
import { checkLabel } from '../../domain/launch/launch.ts'
import { needCredit } from '../accounts/accounts.ts'
import { authoriseEach } from '../authorize.ts'
import { refuseStarts } from '../billing/limits/refuse.ts'
import type { Deps } from '../deps.ts'
import { unaffordableStarts } from './admission.ts'
import { startRefusals } from './policy/facts.ts'
import { followMarkets, lockInstances, writeSteps } from './write.ts'

export type CommandOptions = {
  /** Everything or nothing. */
  all?: boolean
  /** Say what would happen, and do nothing. */
  dryRun?: boolean
}

export function commandServices(deps: Deps) {
  const { database, admission } = deps
  return {
    /** Changes the target state or the label of instances, each for itself unless all or none are wanted. */
    async update(actor: Actor, ids: readonly bigint[], change: Change, options: CommandOptions = {}): Promise<Step[]> {
      authoriseEach(actor, 'instances.update', ids, { relabels: change.label !== undefined })
      checkIds(ids)
      const issue = change.label === undefined ? undefined : checkLabel(change.label)
      if (issue) throw invalidInput([issue])
      if (change.targetState === undefined && change.label === undefined) {
        throw new DomainError('INVALID_INPUT', 'Nothing to change: give a state or a label.', { issues: [] })
      }
      return await command(actor, ids, { kind: 'change', change }, options)
    },

    /** Ends rentals. What was destroyed before stays so. */
    async destroy(actor: Actor, ids: readonly bigint[], options: CommandOptions = {}): Promise<Step[]> {
      authoriseEach(actor, 'instances.destroy', ids)
      checkIds(ids)
      return await command(actor, ids, { kind: 'destroy' }, options)
    },
  }

  /**
   * Wishes are written in one transaction; each machine's market follows them in one of its own. By then the command is
   * done, whatever becomes of the markets: see `followMarkets`.
   */
  async function command(
    actor: Actor,
    ids: readonly bigint[],
    command: Command,
    { all = false, dryRun = false }: CommandOptions,
  ): Promise<Step[]> {
    const { steps, machines } = await transaction(database, async tx => {
      const { at } = tx
      if (command.kind === 'change' && command.change.targetState === 'running') await needCredit(tx, actor, at)
      const locked = await lockInstances(tx, ids, actor.accountId)
      const starts = command.kind === 'change' && command.change.targetState === 'running'
      const subjects = locked.map(({ subject }) => subject)
      const refusals = starts ? await startRefusals(tx, ids, at) : undefined
      const possible = planCommand(ids, subjects, command, false, refusals)
      const tooMuch = await unaffordableStarts(tx, admission, actor, possible, { dryRun, at })
      const steps = planCommand(ids, subjects, command, all, new Map([...(refusals ?? []), ...tooMuch]))
      const cause = { apiKeyId: actor.apiKeyId, reason: 'USER_REQUEST' } as const
      const machines = dryRun ? [] : await writeSteps(tx, cause, steps, locked, at)
      await refuseStarts(tx, actor, steps, { dryRun, at })
      return { steps, machines }
    })
    await followMarkets(deps, machines)
    return steps
  }
}
