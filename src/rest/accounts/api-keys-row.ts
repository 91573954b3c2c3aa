import { z } from 'zod'
import type { ApiKey } from '../../domain/accounts/api-keys.ts'
import type { Actor } from '../../domain/actor.ts'
import { alwaysNull, integer, number, text } from '../values.ts'

export const permissionsSchema = z
  .looseObject({
    api: z
      .record(z.string(), z.record(z.string(), z.unknown()))
      .describe('By category: {} allows all of it, else only the operations that are in it, within their constraints.'),
  })
  .meta({ id: 'Permissions', description: 'What a key may do.' })

export const apiKeyRowSchema = z
  .object({
    id: integer('The API key.'),
    user_id: integer('The account that it belongs to.'),
    key: alwaysNull('Always null: a key is shown when it is made, and never again.'),
    key_type: z.literal('api').describe('Always "api".'),
    name: text('What its owner calls it. May be empty.'),
    permissions: permissionsSchema.nullable().describe('What it may do; null is everything.'),
    created_at: number('When it was made, in seconds since 1970.'),
    expires_at: z.number().nullable().describe('From when on it fails, in seconds since 1970; null is never.'),
    last_used: z.number().nullable().describe('When it was last used, in seconds since 1970; null is never.'),
    team_id: alwaysNull('Always null: there are no teams.'),
    team_name: alwaysNull('Always null: there are no teams.'),
    team_owner: alwaysNull('Always null: there are no teams.'),
  })
  .meta({ id: 'ApiKey', description: 'An API key of the account.' })

export function apiKeyRow({ accountId }: Actor, apiKey: ApiKey): z.output<typeof apiKeyRowSchema> {
  const { id, name, permissions, createdAt, expiresAt, lastUsedAt } = apiKey
  return {
    id,
    user_id: accountId,
    key: null,
    key_type: 'api',
    name,
    permissions,
    created_at: createdAt.getTime() / 1000,
    expires_at: expiresAt && expiresAt.getTime() / 1000,
    last_used: lastUsedAt && lastUsedAt.getTime() / 1000,
    team_id: null,
    team_name: null,
    team_owner: null,
  }
}
