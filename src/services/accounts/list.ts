import { Prisma } from '../../database/generated/client.ts'
import type { QuotaOverrides } from '../../domain/accounts/quotas.ts'
import { type CreditStatus, creditStatusOf } from '../../domain/billing/balance.ts'
import { readBalances } from '../billing/balance.ts'
import type { DataDeps } from '../deps.ts'
import { findAccount } from './accounts.ts'
import { type QuotaOverrideRow, toQuotaOverrides } from './quotas.ts'

const { sql } = Prisma

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

type AccountRow = [...[number, string, string, Date, number, number], ...QuotaOverrideRow]

export function accountListOperations({ database }: DataDeps) {
  return {
    async find(email: string): Promise<{ id: number; email: string }> {
      return await findAccount(database, email)
    },

    /** Up to `limit` accounts after the account with the id `after`, in id order. */
    async page(after: number, limit: number): Promise<AccountSummary[]> {
      const rows = await database.rows(sql`
        SELECT a.id, a.email, a.name, a.created_at,
          (SELECT count(*)::int FROM api_keys k WHERE k.account_id = a.id AND k.revoked_at IS NULL
            AND (k.expires_at IS NULL OR k.expires_at > ${database.nowSql})),
          (SELECT count(*)::int FROM instances i WHERE i.account_id = a.id AND i.destroyed_at IS NULL),
          a.max_instances, a.max_loading, a.max_disk_gb, a.max_volumes
        FROM accounts a WHERE a.id > ${after} ORDER BY a.id LIMIT ${limit}`)
      const balances = await readBalances(
        database,
        rows.map(([id]) => id as number),
      )
      const creditStatuses = new Map(balances.map(balance => [balance.accountId, creditStatusOf(balance)]))
      return rows.map(row => {
        const [id, email, name, createdAt, keys, held, ...own] = row as AccountRow
        const quotas = toQuotaOverrides(own)
        const { creditNanos, costPerHourNanos } = creditStatuses.get(id) as CreditStatus
        return { id, email, name, creditNanos, costPerHourNanos, createdAt, keys, instances: held, quotas }
      })
    },
  }
}
