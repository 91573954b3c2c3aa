import { Prisma } from '../../database/generated/client.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import { type Quota, type QuotaOverrides, quotaNames } from '../../domain/accounts/quotas.ts'
import { operatorActor } from '../../domain/events/actor.ts'
import { lockAccount } from '../billing/balance.ts'
import type { DataDeps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { findAccount } from './accounts.ts'

const { sql } = Prisma

/** In the order of `quotaNames`. */
export type QuotaOverrideRow = [number | null, number | null, number | null, number | null]

export function toQuotaOverrides([instances, loading, diskGb, volumes]: QuotaOverrideRow): QuotaOverrides {
  return { instances, loading, diskGb, volumes }
}

export function quotaOperations({ database }: DataDeps) {
  return {
    /** Sets an account's quotas. Null restores the gateway's setting; omitted quotas stay unchanged. */
    async setQuotas(
      email: string,
      changes: Partial<QuotaOverrides>,
    ): Promise<{ email: string; quotas: QuotaOverrides }> {
      return await transaction(database, async tx => {
        const account = await findAccount(tx, email)
        // Rentals check quotas under the same lock, so no rental is halfway through a check.
        const balance = await lockAccount(tx, account.id, tx.at)
        const before = await loadQuotaOverrides(tx, account.id)
        const quotas = { ...before, ...changes }
        const changed = quotaNames.filter(name => quotas[name] !== before[name])
        if (changed.length === 0) return { email: account.email, quotas }
        await tx.rows(sql`
          UPDATE accounts SET max_instances = ${quotas.instances}::int, max_loading = ${quotas.loading}::int,
            max_disk_gb = ${quotas.diskGb}::int, max_volumes = ${quotas.volumes}::int WHERE id = ${account.id}`)
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
  const [row] = await tx.rows(sql`
    SELECT max_instances, max_loading, max_disk_gb, max_volumes FROM accounts WHERE id = ${accountId}`)
  return toQuotaOverrides(row as QuotaOverrideRow)
}

function pickQuotas(quotas: QuotaOverrides, names: readonly Quota[]): Partial<QuotaOverrides> {
  return Object.fromEntries(names.map(name => [name, quotas[name]]))
}
