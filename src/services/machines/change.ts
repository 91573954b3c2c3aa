import { type Transaction, transaction } from '../../database/transaction.ts'
import { invalidInput } from '../../domain/errors.ts'
import { parseMachineChanges } from '../../domain/machines/changes.ts'
import type { DataDeps } from '../deps.ts'
import { updateOffers } from './market.ts'
import { lockExistingMachine } from './unused.ts'

export function machineChangeOperations({ database }: DataDeps) {
  return {
    /**
     * Changes columns of the machine. Its instances and volumes keep their prices and their ends. Its offers get new ids: who
     * rents one pays what that offer said.
     */
    async change(id: number, given: Readonly<Record<string, string>>): Promise<void> {
      await transaction(database, async tx => {
        const machine = await lockExistingMachine(tx, id)
        const { changes, issues } = parseMachineChanges(given, machine, tx.at)
        if (issues.length > 0) throw invalidInput(issues)
        await tx.prisma(prisma => prisma.machine.updateMany({ where: { id }, data: changes }))
        await withdrawOffers(tx, id)
        if (machine.unlistedAt === null) await updateOffers(tx, { ...machine, ...changes }, tx.at)
      })
    },
  }
}

/** Takes all offers of a locked machine off the market. */
export async function withdrawOffers(tx: Transaction, machineId: number): Promise<void> {
  await tx.prisma(prisma =>
    prisma.offer.updateMany({
      where: { machineId, withdrawnAt: null },
      data: { rentable: false, withdrawnAt: tx.at },
    }),
  )
}
