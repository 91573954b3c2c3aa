import { Prisma } from '../../../database/generated/client.ts'
import { type ApiKeySettings, maxApiKeys, permissionsOf } from '../../../domain/accounts/api-keys.ts'
import type { Actor } from '../../../domain/actor.ts'
import { asSelected, type ColumnSelect, type SelectedColumns } from '../../selected.ts'

export type ApiKeySelect = ColumnSelect<'ApiKey', 'id'>
export type SelectedApiKey<Select> = SelectedColumns<'ApiKey', 'id', Select>

/** Keys that authenticate requests at this time. */
export function activeKeys(at: Date) {
  return { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: at } }] } satisfies Prisma.ApiKeyWhereInput
}

/** The same in SQL, for the alias `k`. */
export function validKeySql(nowSql: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${nowSql}))`
}

/** Valid keys whose account is not disabled. */
export function activeKeySql(nowSql: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(${validKeySql(nowSql)} AND (SELECT a.disabled_at IS NULL FROM accounts a WHERE a.id = k.account_id))`
}

export function ownActiveKeys({ accountId }: Actor, at: Date): Prisma.ApiKeyWhereInput {
  return { accountId, ...activeKeys(at) }
}

/** Keys that meet a condition, newest first. Internal: does not authorize; callers must have. */
export async function findKeys<Select extends ApiKeySelect>(
  prisma: Prisma.TransactionClient,
  where: Prisma.ApiKeyWhereInput,
  select: Select,
): Promise<SelectedApiKey<Select>[]> {
  return asSelected(await prisma.apiKey.findMany({ where, select, orderBy: { id: 'desc' }, take: maxApiKeys }))
}

/** The columns with the settings of a key. */
export const settingsSelect = { id: true, name: true, permissions: true, expiresAt: true } as const

export function settingsOf(key: SelectedApiKey<typeof settingsSelect>): ApiKeySettings {
  const { name, expiresAt } = key
  return { name, permissions: permissionsOf(key), expiresAt }
}
