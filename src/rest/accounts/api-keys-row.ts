import { z } from 'zod'
import { permissionsOf } from '../../domain/accounts/api-keys.ts'
import type { Actor } from '../../domain/actor.ts'
import type { SelectedApiKey } from '../../services/accounts/api-keys/find.ts'
import { alwaysNull, integer, number, text } from '../values.ts'

export const permissionsSchema = z
  .looseObject({
    api: z
      .record(z.string(), z.record(z.string(), z.unknown()))
      .describe(
        'Permissions by category. {} allows the whole category; otherwise only the listed operations, within their constraints.',
      ),
  })
  .meta({ id: 'Permissions', description: 'The permissions of an API key.' })

export const apiKeyRowSchema = z
  .object({
    id: integer('ID of the API key.'),
    user_id: integer('ID of the account that owns the key.'),
    key: alwaysNull('Always null: a key is shown once, when it is created.'),
    key_type: z.literal('api').describe('Always "api".'),
    name: text('Name of the key. May be empty.'),
    permissions: permissionsSchema.nullable().describe('Permissions of the key; null means full access.'),
    created_at: number('Time of creation, in seconds since 1970.'),
    expires_at: z
      .number()
      .nullable()
      .describe('Time of expiry, in seconds since 1970; null if the key does not expire.'),
    last_used: z
      .number()
      .nullable()
      .describe('Time of last use, in seconds since 1970; null if the key was never used.'),
    team_id: alwaysNull('Always null: Berth has no teams.'),
    team_name: alwaysNull('Always null: Berth has no teams.'),
    team_owner: alwaysNull('Always null: Berth has no teams.'),
  })
  .meta({ id: 'ApiKey', description: 'An API key of the account.' })

const columns = { id: true, name: true, permissions: true, createdAt: true } as const
/** What a row shows of a key. */
export const apiKeySelect = { ...columns, expiresAt: true, lastUsedAt: true } as const

export function apiKeyRow(
  { accountId }: Actor,
  apiKey: SelectedApiKey<typeof apiKeySelect>,
): z.output<typeof apiKeyRowSchema> {
  const { id, name, createdAt, expiresAt, lastUsedAt } = apiKey
  return {
    id,
    user_id: accountId,
    key: null,
    key_type: 'api',
    name,
    permissions: permissionsOf(apiKey),
    created_at: createdAt.getTime() / 1000,
    expires_at: expiresAt && expiresAt.getTime() / 1000,
    last_used: lastUsedAt && lastUsedAt.getTime() / 1000,
    team_id: null,
    team_name: null,
    team_owner: null,
  }
}
