import { Prisma } from '../../../database/generated/client.ts'
import { transaction } from '../../../database/transaction.ts'
import type { Permissions } from '../../../domain/accounts/permissions/permissions.ts'
import { operatorActor } from '../../../domain/events/actor.ts'
import type { DataDeps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { findAccount } from '../accounts.ts'

const { sql, empty } = Prisma

/** A key as operators see it: everything but its secret. */
type ApiKeySummary = {
  id: number
  name: string
  publicId: string
  permissions: Permissions | null
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
}

export function apiKeyOperations({ database }: DataDeps) {
  return {
    /** All keys of the account, including revoked and expired ones, oldest first. */
    async list(email: string): Promise<ApiKeySummary[]> {
      const { id: accountId } = await findAccount(database, email)
      const rows = await database.rows(sql`
        SELECT id, name, public_id, permissions, created_at, expires_at, revoked_at, last_used_at
        FROM api_keys WHERE account_id = ${accountId} ORDER BY id`)
      return rows.map(row => {
        const [id, name, publicId, permissions, createdAt, expiresAt, revokedAt, lastUsedAt] = row
        const dates = { createdAt, expiresAt, revokedAt, lastUsedAt }
        return { id, name, publicId, permissions, ...dates } as ApiKeySummary
      })
    },

    /**
     * Revokes the account's key with this id, or its keys with this name, and returns their ids. The keys of the
     * instances that these keys rented end, too, unless `keepInstanceKeys` is set.
     */
    async revoke(
      email: string,
      which: { id: number } | { name: string },
      { keepInstanceKeys = false } = {},
    ): Promise<number[]> {
      const address = email.trim().toLowerCase()
      return await transaction(database, async tx => {
        const { at } = tx
        const rows = await tx.rows(sql`
          UPDATE api_keys k SET keep_instance_keys = ${keepInstanceKeys}, revoked_at = ${at} FROM accounts a
          WHERE a.id = k.account_id AND a.email = ${address} AND k.revoked_at IS NULL
          ${'id' in which ? sql`AND k.id = ${which.id}` : empty}
          ${'name' in which ? sql`AND k.name = ${which.name}` : empty} RETURNING k.id, k.name, k.account_id`)
        const events = rows.map(([id, name, accountId]) => ({
          kind: 'API_KEY_DELETED' as const,
          accountId: accountId as number,
          actor: operatorActor,
          before: { apiKeyId: id, name },
        }))
        await recordEvents(tx, events, at)
        return rows.map(([id]) => id as number).toSorted((a, b) => a - b)
      })
    },
  }
}
