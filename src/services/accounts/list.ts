import type { QuotaOverrides } from '../../domain/accounts/quotas.ts'
import { type CreditStatus, creditStatusOf } from '../../domain/billing/balance.ts'
import { readBalances } from '../billing/balance.ts'
import type { DataDeps } from '../deps.ts'
import { type AccountName, findAccount } from './accounts.ts'
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
  /** Since when an operator has disabled it; null unless it is disabled. */
  disabledAt: Date | null
  disabledReason: string | null
  /** Number of active keys. */
  keys: number
  /** Number of instances that are not destroyed. */
  instances: number
  /** Quotas that an operator set; null means that the gateway's setting applies. */
  quotas: QuotaOverrides
}

/** Number of volumes that are not deleted, and of machines that it hosts. */
type AccountHoldings = { volumes: number; machines: number }

const disabledSelect = { disabledAt: true, disabledReason: true } as const
const holdingsSelect = { _count: { select: { volumes: { where: { deletedAt: null } }, machines: true } } } as const

export function accountListOperations({ database }: DataDeps) {
  return {
    async hasAny(): Promise<boolean> {
      return (await database.prisma.account.findFirst({ select: { id: true } })) !== null
    },

    async find(name: AccountName): Promise<{ id: number; email: string }> {
      return await findAccount(database.prisma, name)
    },

    /** Up to `limit` accounts after the account with the id `after`, in id order. */
    page,

    async show(name: AccountName): Promise<AccountSummary & AccountHoldings> {
      const { id } = await findAccount(database.prisma, name)
      const [summary] = await page(id - 1, 1)
      const { _count: counts } = await database.prisma.account.findUniqueOrThrow({
        where: { id },
        select: holdingsSelect,
      })
      // Safe: accounts are never deleted.
      return { ...(summary as AccountSummary), ...counts }
    },
  }

  async function page(after: number, limit: number): Promise<AccountSummary[]> {
    const accounts = await database.prisma.account.findMany({
      where: { id: { gt: after } },
      orderBy: { id: 'asc' },
      take: limit,
      select: {
        ...{ id: true, email: true, name: true, createdAt: true, ...disabledSelect, ...quotaSelect },
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
    return accounts.map(({ _count: { apiKeys: keys, instances }, ...account }) => {
      const { id, email, name, createdAt, disabledAt, disabledReason } = account
      const { creditNanos, costPerHourNanos } = creditStatuses.get(id) as CreditStatus
      const about = { id, email, name, creditNanos, costPerHourNanos, createdAt, disabledAt, disabledReason }
      return { ...about, keys, instances, quotas: quotaOverridesOf(account) }
    })
  }
}
