// Stops and destroys instances of any renter.

import { transaction } from '../../../database/transaction.ts'
import { invalidState } from '../../../domain/errors.ts'
import { operatorActor } from '../../../domain/events/actor.ts'
import { type InstanceCommand, planCommand } from '../../../domain/instances/command.ts'
import { checkOperatorReason, operatorMessage } from '../../../domain/operator-reason.ts'
import type { DataDeps } from '../../deps.ts'
import { applyPlans } from '../bulk/apply-plans.ts'
import { lockInstances } from '../lock.ts'
import { noInstance } from './list.ts'

export function instanceCommandOperations({ database }: DataDeps) {
  return {
    /** Stops an instance. Its renter reads why, and may start it again. False if its target state is stopped already. */
    async stop(id: bigint, reason: string): Promise<boolean> {
      return await runCommand(id, { kind: 'change', change: { targetState: 'stopped' } }, reason)
    },

    /** Destroys an instance. Its renter reads why. False if it is destroyed already. */
    async destroy(id: bigint, reason: string): Promise<boolean> {
      return await runCommand(id, { kind: 'destroy' }, reason)
    },
  }

  /**
   * Locks no machine: `applyPlans` makes the instance due, and the pass of a gateway over it updates the market. Returns whether
   * the command has changed anything.
   */
  async function runCommand(id: bigint, command: InstanceCommand, note: string): Promise<boolean> {
    checkOperatorReason(note)
    const message = operatorMessage(command.kind === 'destroy' ? 'destroyed' : 'stopped', note)
    const cause = { actor: operatorActor, reason: 'OPERATOR_REQUEST' as const, message, note }
    return await transaction(database, async tx => {
      const locked = await lockInstances(tx, [id])
      const [one] = locked
      if (!one) throw noInstance(id)
      if (command.kind === 'change' && one.subject.destroyedAt) throw invalidState(id, `Instance ${id} is destroyed.`)
      const plans = planCommand([id], [one.subject], command, false)
      await applyPlans(tx, cause, plans, locked, tx.at)
      return plans.some(({ outcome }) => outcome === 'applied')
    })
  }
}
