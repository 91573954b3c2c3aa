// Drains, resumes and unlists machines. A drained machine takes no new rentals, and its instances keep running. An
// unlisted machine is empty and has no offers.

import { type Transaction, transaction } from '../../database/transaction.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Machine } from '../../domain/machines/machines.ts'
import type { DataDeps } from '../deps.ts'
import { findSharedPorts, lockAddresses } from './addresses.ts'
import { withdrawOffers } from './change.ts'
import { updateOffers } from './market.ts'
import { checkUnused, lockExistingMachine } from './unused.ts'

export function marketOperations({ database }: DataDeps) {
  return {
    /** Stops new rentals on the machine. */
    async drain(id: number): Promise<void> {
      await transaction(database, async tx => {
        const machine = await lockExistingMachine(tx, id)
        const { at } = tx
        if (machine.drainedAt === null) await saveMarketState(tx, { ...machine, drainedAt: at }, at)
      })
    },

    /** Puts the machine back on the market, with new offers if it was unlisted. */
    async resume(id: number): Promise<void> {
      await transaction(database, async tx => {
        const machine = await lockExistingMachine(tx, id)
        const { at } = tx
        if (machine.unlistedAt !== null) await checkPortsUnshared(tx, machine)
        if (machine.drainedAt !== null) await saveMarketState(tx, { ...machine, drainedAt: null, unlistedAt: null }, at)
      })
    },

    /** Takes the machine off the market. The machine must have no instances and no volumes. */
    async unlist(id: number): Promise<void> {
      await transaction(database, async tx => {
        const machine = await lockExistingMachine(tx, id)
        const { at } = tx
        if (machine.unlistedAt !== null) return
        await checkUnused(tx, machine)
        await withdrawOffers(tx, id)
        await saveMarketState(tx, { ...machine, drainedAt: machine.drainedAt ?? at, unlistedAt: at }, at)
      })
    },
  }
}

async function saveMarketState(tx: Transaction, machine: Machine, at: Date): Promise<void> {
  const { id, drainedAt, unlistedAt } = machine
  await tx.prisma(prisma => prisma.machine.updateMany({ where: { id }, data: { drainedAt, unlistedAt } }))
  await updateOffers(tx, machine, at)
}

/** While the machine was unlisted, another machine may have been listed with the same ports. */
async function checkPortsUnshared(tx: Transaction, machine: Machine): Promise<void> {
  await lockAddresses(tx)
  const [shared] = await findSharedPorts(tx, [machine])
  if (!shared) return
  const cause = `shares ports of ${machine.publicIp} with machine ${shared.machineId}, which is on the market`
  throw new DomainError('CONFLICT', `Machine ${machine.id} ${cause}. Unlist that machine first.`, { subject: null })
}
