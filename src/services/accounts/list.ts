import type { QuotaOverrides } from '../../domain/accounts/quotas.ts'
import { type CreditStatus, creditStatusOf } from '../../domain/billing/balance.ts'
import { readBalances } from '../billing/balance.ts'
import type { DataDeps } from '../deps.ts'
import { findAccount } from './accounts.ts'
import { activeKeys } from './api-keys/find.ts'
import { quotaOverridesOf, quotaSelect } from './quotas.ts'

/** An account as operators see it. */
type AccountSummary = {
  id: number
  email: string
  name: string
  /** Credit left now. */
  creditNanos: bigint
  /** Current cost per hour. */
  costPerHourNanos: bigint
  createdAt: Date
  /** Number of active keys. */
  keys: number
  /** Number of instances that are not destroyed. */
  instances: number
  /** Quotas that an operator set; null means that the gateway's setting applies. */
  quotas: QuotaOverrides
}

export function accountListOperations({ database }: DataDeps) {
  return {
    async hasAny(): Promise<boolean> {
      return (await database.prisma.account.findFirst({ select: { id: true } })) !== null
    },

    async find(email: string): Promise<{ id: number; email: string }> {
      return await findAccount(database.prisma, email)
    },

    /** Up to `limit` accounts after the account with the id `after`, in id order. */
    async page(after: number, limit: number): Promise<AccountSummary[]> {
      const accounts = await database.prisma.account.findMany({
        where: { id: { gt: after } },
        orderBy: { id: 'asc' },
        take: limit,
        select: {
          ...{ id: true, email: true, name: true, createdAt: true, ...quotaSelect },
          _count: {
            select: {
              apiKeys: { where: activeKeys(database.clock.latest()) },
              instances: { where: { destroyedAt: null } },
            },
          },
        },
      })
      const balances = await readBalances(
        database,
        accounts.map(({ id }) => id),
      )
      const creditStatuses = new Map(balances.map(balance => [balance.accountId, creditStatusOf(balance)]))
      return accounts.map(({ id, email, name, createdAt, _count: { apiKeys: keys, instances }, ...overrides }) => {
        const { creditNanos, costPerHourNanos } = creditStatuses.get(id) as CreditStatus
        const quotas = quotaOverridesOf(overrides)
        return { id, email, name, creditNanos, costPerHourNanos, createdAt, keys, instances, quotas }
      })
    },
  }
}
