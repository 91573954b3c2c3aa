// Updates the markets of machines whose instances a command has started, stopped or destroyed.

import { failureKindOf } from '../../../database/failure-codes.ts'
import { transaction } from '../../../database/transaction.ts'
import type { Deps } from '../../deps.ts'
import { lockFreeMachines, lockMachine, updateMarket, updateMarketsOf } from '../../machines/market.ts'

export type MarketDeps = Pick<Deps, 'database' | 'log'>

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
