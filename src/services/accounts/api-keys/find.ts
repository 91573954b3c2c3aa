import type { Prisma } from '../../../database/generated/client.ts'
import { type ApiKeySettings, maxApiKeys, permissionsOf } from '../../../domain/accounts/api-keys.ts'
import type { Actor } from '../../../domain/actor.ts'

export type ApiKeySelect = Prisma.ApiKeySelect & { id: true }
export type SelectedApiKey<Select extends ApiKeySelect> = Prisma.ApiKeyGetPayload<{ select: Select }> & { id: number }

/** Keys that authenticate requests at this time. */
export function activeKeys(at: Date) {
  return { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: at } }] } satisfies Prisma.ApiKeyWhereInput
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
  const found = await prisma.apiKey.findMany({ where, select, orderBy: { id: 'desc' }, take: maxApiKeys })
  // Safe: every selection of a key has its `id`.
  return found as SelectedApiKey<Select>[]
}

/** The columns with the settings of a key. */
export const settingsSelect = { id: true, name: true, permissions: true, expiresAt: true } as const

export function settingsOf(key: SelectedApiKey<typeof settingsSelect>): ApiKeySettings {
  const { name, expiresAt } = key
  return { name, permissions: permissionsOf(key), expiresAt }
}
