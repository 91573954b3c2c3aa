// The stored row of a template, with its sealed secrets. Internal: nothing here authorizes; callers must have.

import { createHash } from 'node:crypto'
import { Prisma } from '../../database/generated/client.ts'
import { bool, bytea, int4, jsonb, nullable, type RowOf, text } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError, notFound } from '../../domain/errors.ts'
import { apiKeyActor } from '../../domain/events/actor.ts'
import type { Registry } from '../../domain/launch/registry.ts'
import type { StoredTemplate } from '../../domain/templates/patch.ts'
import {
  canonicalTemplate,
  checkTemplate,
  type TemplateInput,
  type TemplateSettings,
} from '../../domain/templates/templates.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { openJson, type Secrets, sealJson } from '../secrets.ts'

const { sql } = Prisma

export type TemplateRow = ReturnType<typeof buildTemplateRow>

export function buildTemplateRow({ accountId }: Actor, input: TemplateInput, secrets: Secrets) {
  const { settings, secrets: plain } = checkTemplate(input)
  const canonical = canonicalTemplate(accountId, input.name, input.public, settings)
  return {
    name: input.name,
    public: input.public,
    hashId: createHash('sha256').update(canonical).digest('hex').slice(0, 32),
    settings,
    registryLogin: sealJson(secrets, plain.registry),
    secretEnv: sealJson(secrets, plain.env),
  }
}

/** The columns with a template's secrets. */
export const sealedSecrets = { registryLogin: nullable(bytea), secretEnv: nullable(bytea) }

export function openSecrets(secrets: Secrets, { registryLogin, secretEnv }: RowOf<typeof sealedSecrets>) {
  return {
    registry: openJson<Registry>(secrets, registryLogin),
    env: openJson<Record<string, string>>(secrets, secretEnv),
  }
}

/** The account's template of a condition on the alias `t`, with its secrets. Its row stays locked until the end of `tx`. */
export async function lockTemplate(
  tx: Transaction,
  secrets: Secrets,
  { accountId }: Actor,
  condition: Prisma.Sql,
): Promise<(StoredTemplate & { hashId: string }) | undefined> {
  const [row] = await tx.query(
    sql`
      SELECT t.name, t.public, t.hash_id, t.settings, t.registry_login, t.secret_env FROM templates t
      WHERE ${condition} AND t.account_id = ${accountId} AND t.deleted_at IS NULL FOR UPDATE`,
    { name: text, public: bool, hashId: text, settings: jsonb<TemplateSettings>(), ...sealedSecrets },
  )
  if (!row) return undefined
  const { registryLogin, secretEnv, ...template } = row
  return { ...template, secrets: openSecrets(secrets, { registryLogin, secretEnv }) }
}

export async function replaceTemplate(
  tx: Transaction,
  { accountId, apiKeyId }: Actor,
  id: number,
  row: TemplateRow,
): Promise<number> {
  const { at } = tx
  const settings = JSON.stringify(row.settings)
  const [old] = await tx.query(
    sql`UPDATE templates t SET name = ${row.name}, hash_id = ${row.hashId}, public = ${row.public},
      settings = ${settings}::jsonb, registry_login = ${row.registryLogin}::bytea, secret_env = ${row.secretEnv}::bytea,
      updated_at = ${at}
    FROM (SELECT id, name, hash_id FROM templates
      WHERE id = ${id}::bigint AND account_id = ${accountId} AND deleted_at IS NULL FOR UPDATE) old
    WHERE t.id = old.id RETURNING old.name, old.hash_id`,
    { name: text, hashId: text },
  )
  if (!old) throw notFound('Template', id)
  const before = { templateId: id, ...old }
  const after = { templateId: id, name: row.name, hashId: row.hashId }
  await recordEvents(tx, [{ accountId, actor: apiKeyActor({ apiKeyId }), kind: 'TEMPLATE_UPDATED', before, after }], at)
  return id
}

/**
 * The error for a template with a hash that another template has. The hash includes the account id, so both templates
 * belong to the same account.
 */
export async function findConflict(database: Deps['database'], hashId: string): Promise<DomainError> {
  const [row] = await database.query(sql`SELECT id FROM templates WHERE hash_id = ${hashId} AND deleted_at IS NULL`, {
    id: int4,
  })
  const subject = row ? ({ type: 'Template', id: row.id } as const) : null
  return new DomainError(
    'CONFLICT',
    'Another template of the account already has these settings. The values of secrets are not compared.',
    { subject },
  )
}

/** The error for a change that was made for another version of the template. */
export function templateChanged(id: number, hashId: string): DomainError {
  const message = `The template has changed: its hash is now ${hashId}. Read it again, then repeat the change.`
  return new DomainError('CONFLICT', message, { subject: { type: 'Template', id } })
}
