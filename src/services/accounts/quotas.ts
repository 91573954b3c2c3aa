import type { Prisma } from '../../database/generated/client.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import { type Quota, type QuotaOverrides, quotaNames } from '../../domain/accounts/quotas.ts'
import { operatorActor } from '../../domain/events/actor.ts'
import { lockAccount } from '../billing/balance.ts'
import type { DataDeps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { type AccountName, findAccount } from './accounts.ts'

/** The columns with the quotas of an account. */
export const quotaSelect = { maxInstances: true, maxLoading: true, maxDiskGb: true, maxVolumes: true } as const
type QuotaColumns = Prisma.AccountGetPayload<{ select: typeof quotaSelect }>

export function quotaOverridesOf(columns: QuotaColumns): QuotaOverrides {
  const { maxInstances: instances, maxLoading: loading, maxDiskGb: diskGb, maxVolumes: volumes } = columns
  return { instances, loading, diskGb, volumes }
}

export function quotaOperations({ database }: DataDeps) {
  return {
    /** Sets an account's quotas. Null restores the gateway's setting; omitted quotas stay unchanged. */
    async setQuotas(
      name: AccountName,
      changes: Partial<QuotaOverrides>,
    ): Promise<{ email: string; quotas: QuotaOverrides }> {
      return await transaction(database, async tx => {
        const account = await tx.prisma(prisma => findAccount(prisma, name))
        // Rentals check quotas under the same lock, so no rental is halfway through a check.
        const balance = await lockAccount(tx, account.id, tx.at)
        const before = await loadQuotaOverrides(tx, account.id)
        const quotas = { ...before, ...changes }
        const changed = quotaNames.filter(name => quotas[name] !== before[name])
        if (changed.length === 0) return { email: account.email, quotas }
        const { instances: maxInstances, loading: maxLoading, diskGb: maxDiskGb, volumes: maxVolumes } = quotas
        const data = { maxInstances, maxLoading, maxDiskGb, maxVolumes }
        await tx.prisma(prisma => prisma.account.update({ where: { id: account.id }, data, select: { id: true } }))
        const values = { before: pickQuotas(before, changed), after: pickQuotas(quotas, changed) }
        await recordEvents(
          tx,
          [{ kind: 'ACCOUNT_QUOTAS_CHANGED', accountId: account.id, actor: operatorActor, ...values }],
          balance.at,
        )
        return { email: account.email, quotas }
      })
    },
  }
}

async function loadQuotaOverrides(tx: Transaction, accountId: number): Promise<QuotaOverrides> {
  const where = { id: accountId }
  return quotaOverridesOf(await tx.prisma(prisma => prisma.account.findUniqueOrThrow({ where, select: quotaSelect })))
}

function pickQuotas(quotas: QuotaOverrides, names: readonly Quota[]): Partial<QuotaOverrides> {
  return Object.fromEntries(names.map(name => [name, quotas[name]]))
}
