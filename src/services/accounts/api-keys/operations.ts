import { Prisma } from '../../../database/generated/client.ts'
import { transaction } from '../../../database/transaction.ts'
import { permissionsOf } from '../../../domain/accounts/api-keys.ts'
import type { Permissions } from '../../../domain/accounts/permissions/permissions.ts'
import { operatorActor } from '../../../domain/events/actor.ts'
import type { DataDeps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { parseEmail } from '../accounts.ts'
import { activeKeys } from './find.ts'

/** A key as operators see it: everything but its secret. */
type ApiKeySummary = {
  id: number
  account: string
  name: string
  publicId: string
  permissions: Permissions | null
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
}

/** An absent part matches every key. */
export type ApiKeyFilter = {
  accountId?: number | undefined
  /** Only keys that were made before this instant, and not used since. */
  unusedSince?: Date | undefined
  /** Only keys that have not full access. */
  scoped?: boolean
  /** Only keys that are neither revoked nor expired. */
  active?: boolean
}

export function apiKeyOperations({ database }: DataDeps) {
  return {
    /** Up to `limit` keys after the key with the id `after`, in the order of ids. */
    async page(filter: ApiKeyFilter, after: number, limit: number): Promise<ApiKeySummary[]> {
      const keys = await database.prisma.apiKey.findMany({
        where: { AND: [{ id: { gt: after } }, ...conditionsOf(filter, database.clock.latest())] },
        select: {
          ...{ id: true, name: true, publicId: true, permissions: true, account: { select: { email: true } } },
          ...{ createdAt: true, expiresAt: true, revokedAt: true, lastUsedAt: true },
        },
        orderBy: { id: 'asc' },
        take: limit,
      })
      return keys.map(({ id, account: { email }, ...key }) => {
        return { id, account: email, ...key, permissions: permissionsOf(key) }
      })
    },

    /**
     * Revokes the key with this id, or the account's keys with this name, and returns their ids. The keys of the instances
     * that these keys rented end, too, unless `keepInstanceKeys` is set.
     */
    async revoke({ email, ...which }: RevokedKeys, { keepInstanceKeys = false } = {}): Promise<number[]> {
      const owner = email === undefined ? {} : { account: { email: parseEmail(email) } }
      return await transaction(database, async tx => {
        const { at } = tx
        const revoked = await tx.prisma(prisma =>
          prisma.apiKey.updateManyAndReturn({
            where: { revokedAt: null, ...owner, ...which },
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

/** With an `email`, only keys of the account with that address. */
type RevokedKeys = { id: number; email?: string | undefined } | { name: string; email: string }

function conditionsOf({ accountId, unusedSince, scoped, active }: ApiKeyFilter, at: Date): Prisma.ApiKeyWhereInput[] {
  return [
    ...(accountId === undefined ? [] : [{ accountId }]),
    ...(unusedSince
      ? [{ createdAt: { lt: unusedSince }, OR: [{ lastUsedAt: null }, { lastUsedAt: { lt: unusedSince } }] }]
      : []),
    ...(scoped ? [{ permissions: { not: Prisma.DbNull } }] : []),
    ...(active ? [activeKeys(at)] : []),
  ]
}
