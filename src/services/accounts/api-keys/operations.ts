import { transaction } from '../../../database/transaction.ts'
import { permissionsOf } from '../../../domain/accounts/api-keys.ts'
import type { Permissions } from '../../../domain/accounts/permissions/permissions.ts'
import { operatorActor } from '../../../domain/events/actor.ts'
import type { DataDeps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { findAccount } from '../accounts.ts'

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
      const { prisma } = database
      const { id: accountId } = await findAccount(prisma, email)
      const keys = await prisma.apiKey.findMany({
        where: { accountId },
        select: {
          ...{ id: true, name: true, publicId: true, permissions: true },
          ...{ createdAt: true, expiresAt: true, revokedAt: true, lastUsedAt: true },
        },
        orderBy: { id: 'asc' },
      })
      return keys.map(key => ({ ...key, permissions: permissionsOf(key) }))
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
        const revoked = await tx.prisma(prisma =>
          prisma.apiKey.updateManyAndReturn({
            where: { account: { email: address }, revokedAt: null, ...which },
            data: { keepInstanceKeys, revokedAt: at },
            select: { id: true, name: true, accountId: true },
          }),
        )
        const event = { kind: 'API_KEY_DELETED' as const, actor: operatorActor }
        const events = revoked.map(({ id, name, accountId }) => {
          return { ...event, accountId, before: { apiKeyId: id, name } }
        })
        await recordEvents(tx, events, at)
        return revoked.map(({ id }) => id).toSorted((a, b) => a - b)
      })
    },
  }
}
