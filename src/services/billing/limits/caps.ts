// Caps: spend limits that operators set for whole accounts. The account reads them, and cannot change them.

import { type Transaction, transaction } from '../../../database/transaction.ts'
import { checkLimitAmount } from '../../../domain/billing/limits.ts'
import type { SpendAction, SpendLimit, SpendWindow } from '../../../domain/billing/spend-limit.ts'
import { operatorActor } from '../../../domain/events/actor.ts'
import { type AccountName, findAccount } from '../../accounts/accounts.ts'
import type { DataDeps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { lockAccount } from '../balance.ts'
import { limitEventFacts } from './limits.ts'
import { findLimits } from './usage.ts'

/** Null removes the cap of a window. An absent window stays as it is. */
export type CapAmounts = Partial<Record<SpendWindow, bigint | null>>
type AccountCaps = { account: string; limits: SpendLimit[] }
type CapAction = Extract<SpendAction, 'block_new' | 'stop_running'>

export function capOperations({ database }: DataDeps) {
  return {
    async ofAccount(accountId: number): Promise<SpendLimit[]> {
      return (await findLimits(database, accountId)).filter(({ cap }) => cap)
    },

    /** Sets, changes or removes caps, and returns the caps that are left. What was spent before in the same window counts. */
    async set(name: AccountName, amounts: CapAmounts, action: CapAction): Promise<AccountCaps> {
      for (const amountNanos of Object.values(amounts)) if (amountNanos !== null) checkLimitAmount(amountNanos)
      return await transaction(database, async tx => {
        const account = await tx.prisma(prisma => findAccount(prisma, name))
        // Records a limit that was already reached. The account becomes due, so a lower cap is checked at once.
        const { at } = await lockAccount(tx, account.id, tx.at)
        const caps = (await findLimits(tx, account.id)).filter(({ cap }) => cap)
        for (const [window, amountNanos] of Object.entries(amounts) as [SpendWindow, bigint | null][]) {
          const before = caps.find(cap => cap.window === window)
          await setCap(tx, account.id, before, amountNanos === null ? undefined : { window, amountNanos, action }, at)
        }
        return { account: account.email, limits: (await findLimits(tx, account.id)).filter(({ cap }) => cap) }
      })
    },
  }
}

type NewCap = Pick<SpendLimit, 'window' | 'amountNanos' | 'action'>

async function setCap(
  tx: Transaction,
  accountId: number,
  before: SpendLimit | undefined,
  cap: NewCap | undefined,
  at: Date,
): Promise<void> {
  const event = { accountId, actor: operatorActor }
  if (!cap) {
    if (!before) return
    await tx.prisma(prisma => prisma.spendLimit.delete({ where: { id: before.id }, select: { id: true } }))
    return await recordEvents(tx, [{ ...event, kind: 'SPEND_LIMIT_DELETED', before: limitEventFacts(before) }], at)
  }
  if (!before) {
    const data = { ...cap, accountId, apiKeyId: null, cap: true, createdAt: at, updatedAt: at }
    const { id } = await tx.prisma(prisma => prisma.spendLimit.create({ data, select: { id: true } }))
    const after = limitEventFacts({ ...cap, id, apiKeyId: null })
    return await recordEvents(tx, [{ ...event, kind: 'SPEND_LIMIT_CREATED', after }], at)
  }
  if (cap.amountNanos === before.amountNanos && cap.action === before.action) return
  const data = { amountNanos: cap.amountNanos, action: cap.action, updatedAt: at, reachedAt: null }
  await tx.prisma(prisma => prisma.spendLimit.update({ where: { id: before.id }, data, select: { id: true } }))
  const [old, after] = [limitEventFacts(before), limitEventFacts({ ...before, ...cap })]
  await recordEvents(tx, [{ ...event, kind: 'SPEND_LIMIT_UPDATED', before: old, after }], at)
}
