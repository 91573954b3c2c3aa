import { createHash } from 'node:crypto'
import { Prisma } from '../../database/generated/client.ts'
import { insertSql, modelColumnsOf } from '../../database/rows.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError, invalidInput, notFound } from '../../domain/errors.ts'
import { keepRestOnlySettings, lostSecretIssues } from '../../domain/templates/patch.ts'
import {
  canonicalTemplate,
  checkTemplate,
  type Template,
  type TemplateInput,
  type TemplateSettings,
} from '../../domain/templates/templates.ts'
import { authorize } from '../authorize.ts'
import { isUniqueViolation } from '../database-errors.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { runIdempotent } from '../idempotency.ts'
import { type Secrets, sealJson } from '../secrets.ts'
import { findTemplates } from './templates.ts'

type SaveTemplateInput = {
  id?: number | undefined
  input: TemplateInput
  /** Whether the template may lose secrets that the input leaves out. */
  dropSecrets?: boolean | undefined
  idempotencyKey?: string | null | undefined
}

const { sql } = Prisma
const columns = modelColumnsOf(Prisma.TemplateScalarFieldEnum)

export function templateUpdateServices(deps: Deps) {
  const { database, secrets } = deps

  return {
    /**
     * Creates a template or, with an id, replaces the settings of an existing template. That template keeps its id, and
     * its hash changes with its visible settings. Settings that only REST has fields for stay. An account cannot have
     * two equal templates.
     */
    async save(
      actor: Actor,
      { id, input, dropSecrets = false, idempotencyKey }: SaveTemplateInput,
    ): Promise<{ template: Template; replayed: boolean }> {
      authorize(actor, 'templates.save', { id })
      const row = buildTemplateRow(actor, input, secrets)
      const request = {
        operation: 'templates.save',
        // The name `wish` is part of the hash that stored idempotency keys have.
        input: { id, wish: input, dropSecrets: dropSecrets || undefined },
        idempotencyKey,
      } as const
      let { hashId } = row
      const saving = runIdempotent(deps, actor, request, async tx => {
        if (id === undefined) return { id: await insert(tx, actor, row) }
        const before = await lockSettings(tx, actor, id)
        const replacement = buildTemplateRow(actor, keepRestOnlySettings(input, before, row.settings), secrets)
        hashId = replacement.hashId
        const lost = dropSecrets ? [] : lostSecretIssues(before, replacement.settings)
        if (lost.length > 0) throw invalidInput(lost)
        return { id: await replaceTemplate(tx, actor, id, replacement, tx.at) }
      })
      const { result, replayed } = await saving.catch(async (error: unknown) => {
        throw isUniqueViolation(error) ? await findConflict(database, hashId) : error
      })
      // A replay is answered even if the template has been deleted since.
      const [template] = await findTemplates(deps, actor, [sql`t.id = ${result.id}`])
      return { template: template as Template, replayed }
    },

    async delete(actor: Actor, id: number): Promise<void> {
      authorize(actor, 'templates.delete', { id })
      await transaction(database, async tx => {
        const { at } = tx
        // A deleted template cannot be rented with, so its secrets are erased.
        const [row] = await tx.rows(sql`
          UPDATE templates SET deleted_at = ${at}, registry_login = NULL, secret_env = NULL
          WHERE id = ${id}::bigint AND account_id = ${actor.accountId} AND deleted_at IS NULL RETURNING name, hash_id`)
        if (!row) throw notFound('Template', id)
        const before = { templateId: id, name: row[0], hashId: row[1] }
        await recordEvents(tx, [{ ...eventActor(actor), kind: 'TEMPLATE_DELETED', before }], at)
      })
    },
  }

  async function insert(tx: Transaction, actor: Actor, row: StoredTemplate): Promise<number> {
    const { at } = tx
    const record = { ...row, accountId: actor.accountId, createdAt: at, updatedAt: at }
    const [inserted] = await tx.rows(sql`${insertSql('templates', columns, [record])} RETURNING id`)
    const id = inserted?.[0] as number
    await recordEvents(tx, [{ ...eventActor(actor), kind: 'TEMPLATE_SAVED', after: eventSnapshot(id, row) }], at)
    return id
  }
}

async function lockSettings(tx: Transaction, { accountId }: Actor, id: number): Promise<TemplateSettings> {
  const [row] = await tx.rows(sql`
    SELECT settings FROM templates WHERE id = ${id}::bigint AND account_id = ${accountId} AND deleted_at IS NULL FOR UPDATE`)
  if (!row) throw notFound('Template', id)
  return row[0] as TemplateSettings
}

/** Internal: does not authorize; callers must have. */
export async function replaceTemplate(
  tx: Transaction,
  actor: Actor,
  id: number,
  row: StoredTemplate,
  at: Date,
): Promise<number> {
  const settings = JSON.stringify(row.settings)
  const [old] = await tx.rows(sql`
    UPDATE templates t SET name = ${row.name}, hash_id = ${row.hashId}, public = ${row.public},
      settings = ${settings}::jsonb, registry_login = ${row.registryLogin}::bytea, secret_env = ${row.secretEnv}::bytea,
      updated_at = ${at}
    FROM (SELECT id, name, hash_id FROM templates
      WHERE id = ${id}::bigint AND account_id = ${actor.accountId} AND deleted_at IS NULL FOR UPDATE) old
    WHERE t.id = old.id RETURNING old.name, old.hash_id`)
  if (!old) throw notFound('Template', id)
  const before = { templateId: id, name: old[0], hashId: old[1] }
  await recordEvents(tx, [{ ...eventActor(actor), kind: 'TEMPLATE_SAVED', before, after: eventSnapshot(id, row) }], at)
  return id
}

type StoredTemplate = ReturnType<typeof buildTemplateRow>

export function buildTemplateRow({ accountId }: Actor, input: TemplateInput, secrets: Secrets) {
  const { settings, secrets: plain } = checkTemplate(input)
  const text = canonicalTemplate(accountId, input.name, input.public, settings)
  return {
    name: input.name,
    public: input.public,
    hashId: createHash('sha256').update(text).digest('hex').slice(0, 32),
    settings,
    registryLogin: sealJson(secrets, plain.registry),
    secretEnv: sealJson(secrets, plain.env),
  }
}

function eventSnapshot(id: number, { name, hashId }: StoredTemplate) {
  return { templateId: id, name, hashId }
}

/**
 * The error for a template with a hash that another template has. The hash includes the account id, so both templates
 * belong to the same account.
 */
export async function findConflict(database: Deps['database'], hashId: string): Promise<DomainError> {
  const [row] = await database.rows(sql`SELECT id FROM templates WHERE hash_id = ${hashId} AND deleted_at IS NULL`)
  const id = row?.[0] as number | undefined
  const subject = id === undefined ? null : ({ type: 'Template', id } as const)
  return new DomainError('CONFLICT', 'Another template of the account already has these settings.', { subject })
}

function eventActor({ accountId, apiKeyId }: Actor) {
  return { accountId, apiKeyId }
}
