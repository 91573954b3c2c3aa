// Disables and enables accounts.

import { type Transaction, transaction } from '../../database/transaction.ts'
import { operatorActor } from '../../domain/events/actor.ts'
import { checkOperatorReason } from '../../domain/operator-reason.ts'
import { lockAccount } from '../billing/balance.ts'
import { endSpenderGpus } from '../billing/gpu-ends.ts'
import type { DataDeps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { type AccountName, findAccount } from './accounts.ts'

type Disabling = { reason: string; keepInstances: boolean }
type Change = { id: number; email: string; changed: boolean }

export function accountDisableOperations({ database }: DataDeps) {
  return {
    /**
     * Refuses the account's keys and ends its streams and sessions. Unless `keepInstances` is set, its instances stop: their GPU
     * charges end now, and the billing loop stops them, even after a crash. An account that is disabled already gets the new reason.
     */
    async disable(name: AccountName, { reason, keepInstances }: Disabling): Promise<Change> {
      checkOperatorReason(reason)
      return await transaction(database, async tx => {
        const { id, email } = await tx.prisma(prisma => findAccount(prisma, name))
        // Rentals and starts look under the same lock whether the account is disabled.
        const { at } = await lockAccount(tx, id, tx.at)
        const before = await loadDisabled(tx, id)
        const stopped = keepInstances
          ? { ends: false, marks: false }
          : await endSpenderGpus(tx, { accountId: id, apiKeyId: null }, at, 'ACCOUNT_DISABLED')
        if (before.disabledReason === reason && !stopped.ends && !stopped.marks) return { id, email, changed: false }
        await saveDisabled(tx, id, { disabledAt: before.disabledAt ?? at, disabledReason: reason })
        const event = { kind: 'ACCOUNT_DISABLED' as const, accountId: id, actor: operatorActor }
        await recordEvents(tx, [{ ...event, after: { keepsInstances: keepInstances }, note: reason }], at)
        return { id, email, changed: true }
      })
    },

    /** Lets the keys work again. What was stopped stays stopped until the renter starts it. */
    async enable(name: AccountName, reason?: string): Promise<Change> {
      if (reason !== undefined) checkOperatorReason(reason)
      return await transaction(database, async tx => {
        const { id, email } = await tx.prisma(prisma => findAccount(prisma, name))
        const { at } = await lockAccount(tx, id, tx.at)
        if ((await loadDisabled(tx, id)).disabledAt === null) return { id, email, changed: false }
        await saveDisabled(tx, id, { disabledAt: null, disabledReason: null })
        const event = { kind: 'ACCOUNT_ENABLED' as const, accountId: id, actor: operatorActor }
        await recordEvents(tx, [{ ...event, ...(reason !== undefined && { note: reason }) }], at)
        return { id, email, changed: true }
      })
    },
  }
}

async function loadDisabled(tx: Transaction, id: number) {
  const select = { disabledAt: true, disabledReason: true } as const
  return await tx.prisma(prisma => prisma.account.findUniqueOrThrow({ where: { id }, select }))
}

async function saveDisabled(tx: Transaction, id: number, data: Awaited<ReturnType<typeof loadDisabled>>) {
  await tx.prisma(prisma => prisma.account.update({ where: { id }, data, select: { id: true } }))
}
