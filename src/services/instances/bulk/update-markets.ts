// Updates the markets of machines whose instances a command has started, stopped or destroyed.

import { failureKindOf } from '../../../database/failure-codes.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import type { InstanceCommand, InstanceTarget } from '../../../domain/instances/command.ts'
import type { MarketMachine } from '../../../domain/machines/machines.ts'
import type { Deps } from '../../deps.ts'
import { lockFreeMachines, lockFreeMachinesOf, lockMachine } from '../../machines/lock.ts'
import { updateMarket, updateMarketsOf } from '../../machines/market.ts'

export type MarketDeps = Pick<Deps, 'database' | 'log'>

/** Most machines that a command keeps locked. A rental of one of them waits for the whole command. */
const maxLockedMachines = 100

/**
 * Locks those machines of a command's instances that no other transaction has locked; none if there may be too many, or if the
 * command only labels.
 */
export async function lockMarkets(
  tx: Transaction,
  { accountId }: Pick<Actor, 'accountId'>,
  target: InstanceTarget,
  command: InstanceCommand,
): Promise<MarketMachine[]> {
  if (command.kind === 'change' && command.change.targetState === undefined) return []
  if (!('ids' in target) || target.ids.length > maxLockedMachines) return []
  return await lockFreeMachinesOf(tx, accountId, target.ids)
}

/**
 * Updates the markets of machines after a command has committed: all that no other transaction has locked in one
 * transaction, then each of the others in one of its own, so that no transaction waits for a machine while it keeps
 * others locked. A failure is logged and not thrown: the command is done, so its caller must not see a failure. This is
 * safe, because `applyPlans` made each moved instance due. The next pass updates the market if an instance has GPUs that
 * it does not want, or wants GPUs that it does not have.
 */
export async function updateMarkets(deps: MarketDeps, machineIds: readonly number[]): Promise<void> {
  const updated = new Set(machineIds.length > 1 ? await updateFreeMachines(deps, machineIds) : [])
  for (const machineId of machineIds) {
    if (updated.has(machineId)) continue
    await logFailure(deps, [machineId], () =>
      transaction(deps.database, async tx => {
        const machine = await lockMachine(tx, machineId)
        if (machine) await updateMarket(tx, machine, tx.at)
      }),
    )
  }
}

/** Returns the machines that it updated; after a failure all, since the next passes update them. */
async function updateFreeMachines(deps: MarketDeps, machineIds: readonly number[]): Promise<readonly number[]> {
  const update = logFailure(deps, machineIds, () =>
    transaction(deps.database, async tx => {
      const machines = await lockFreeMachines(tx, machineIds)
      await updateMarketsOf(tx, machines, tx.at)
      return machines.map(({ id }) => id)
    }),
  )
  return (await update) ?? machineIds
}

/** A transient database failure is logged as a warning, anything else as an error. */
async function logFailure<Result>(
  { log }: MarketDeps,
  machineIds: readonly number[],
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work()
  } catch (error) {
    const meaning = failureKindOf(error)
    const level = meaning === 'uncertain' || meaning === 'refused' ? 'warn' : 'error'
    const [machineId] = machineIds
    const which = machineIds.length === 1 ? { machineId } : { machineIds }
    log[level](
      { err: error, ...which },
      'The market of a machine was not updated. The next pass over its instances updates it.',
    )
    return undefined
  }
}
