import { Prisma } from '../../database/generated/client.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import { type OwnQuotas, type Quota, quotaNames } from '../../domain/accounts/quotas.ts'
import { lockBalance } from '../billing/balance.ts'
import type { DataDeps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { findAccount } from './accounts.ts'

const { sql } = Prisma

/** In the order of `quotaNames`. */
export type OwnQuotaRow = [number | null, number | null, number | null, number | null]

export function ownQuotas([instances, loading, diskGb, volumes]: OwnQuotaRow): OwnQuotas {
  return { instances, loading, diskGb, volumes }
}

export function quotaOperations({ database }: DataDeps) {
  return {
    /** Sets what an account may have; null gives a quota back to the setting. What is not named stays. */
    async setQuotas(email: string, changes: Partial<OwnQuotas>): Promise<{ email: string; quotas: OwnQuotas }> {
      return await transaction(database, async tx => {
        const account = await findAccount(tx, email)
        // Requests that count what the account has are under way until it is locked.
        const balance = await lockBalance(tx, account.id, tx.at)
        const before = await readQuotas(tx, account.id)
        const quotas = { ...before, ...changes }
        const changed = quotaNames.filter(name => quotas[name] !== before[name])
        if (changed.length === 0) return { email: account.email, quotas }
        await tx.rows(sql`
          UPDATE accounts SET max_instances = ${quotas.instances}::int, max_loading = ${quotas.loading}::int,
            max_disk_gb = ${quotas.diskGb}::int, max_volumes = ${quotas.volumes}::int WHERE id = ${account.id}`)
        const values = { before: parts(before, changed), after: parts(quotas, changed) }
        await recordEvents(tx, [{ type: 'ACCOUNT_QUOTAS_CHANGED', accountId: account.id, ...values }], balance.at)
        return { email: account.email, quotas }
      })
    },
  }
}

async function readQuotas(tx: Transaction, accountId: number): Promise<OwnQuotas> {
  const [row] = await tx.rows(sql`
    SELECT max_instances, max_loading, max_disk_gb, max_volumes FROM accounts WHERE id = ${accountId}`)
  return ownQuotas(row as OwnQuotaRow)
}

function parts(quotas: OwnQuotas, names: readonly Quota[]): Partial<OwnQuotas> {
  return Object.fromEntries(names.map(name => [name, quotas[name]]))
}
