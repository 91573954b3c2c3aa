// Templates as REST clients use them: named by hash, and patched.

import { Prisma } from '../../database/generated/client.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Registry } from '../../domain/launch/registry.ts'
import { patchTemplate, type TemplatePatch } from '../../domain/templates/patch.ts'
import {
  isTemplateHash,
  type Template,
  type TemplateInput,
  type TemplateSettings,
} from '../../domain/templates/templates.ts'
import { authorize, authorizeOperation } from '../authorize.ts'
import { isUniqueViolation } from '../database-errors.ts'
import type { Deps } from '../deps.ts'
import { openJson } from '../secrets.ts'
import { findTemplates } from './templates.ts'
import { buildTemplateRow, findConflict, replaceTemplate, templateUpdateServices } from './update.ts'

const { sql } = Prisma

export function templateByHashServices(deps: Deps) {
  const { database, secrets } = deps
  const { save, delete: remove } = templateUpdateServices(deps)

  return {
    /** Saves a new template, or finds an equal template of the account. */
    async findOrCreate(
      actor: Actor,
      { input, idempotencyKey }: { input: TemplateInput; idempotencyKey?: string | undefined },
    ): Promise<{ template: Template; existed: boolean }> {
      try {
        const { template } = await save(actor, { input, idempotencyKey })
        return { template, existed: false }
      } catch (error) {
        const equal = error instanceof DomainError && error.code === 'CONFLICT' ? error.details.subject : undefined
        const [template] = equal ? await findTemplates(deps, actor, ownTemplateSql(actor, sql`t.id = ${equal.id}`)) : []
        if (!template) throw error
        return { template, existed: true }
      }
    },

    /** Patches a template. It keeps its id, and its hash changes with its visible settings. */
    async updateByHash(
      actor: Actor,
      hashId: string,
      patch: TemplatePatch,
    ): Promise<{ template: Template; changed: boolean }> {
      authorizeOperation(actor, 'templates.save')
      const id = await idOf(actor, hashId)
      authorize(actor, 'templates.save', { id })
      let newHash = hashId
      await transaction(database, async tx => {
        const row = await changedRow(tx, actor, { id, hashId }, patch)
        newHash = row.hashId
        await replaceTemplate(tx, actor, id, row, tx.at)
      }).catch(async (error: unknown) => {
        throw isUniqueViolation(error) ? await findConflict(database, newHash) : error
      })
      const [template] = await findTemplates(deps, actor, [sql`t.id = ${id}`])
      return { template: template as Template, changed: newHash !== hashId }
    },

    async deleteByHash(actor: Actor, hashId: string): Promise<number> {
      authorizeOperation(actor, 'templates.delete')
      const id = await idOf(actor, hashId)
      await remove(actor, id)
      return id
    },
  }

  async function idOf(actor: Actor, hashId: string): Promise<number> {
    const named = isTemplateHash(hashId) ? sql`t.hash_id = ${hashId}` : sql`false`
    const [template] = await findTemplates(deps, actor, ownTemplateSql(actor, named))
    if (!template) throw noSuchTemplate()
    return template.id
  }

  async function changedRow(
    tx: Transaction,
    actor: Actor,
    { id, hashId }: { id: number; hashId: string },
    patch: TemplatePatch,
  ) {
    const [row] = await tx.rows(sql`
      SELECT t.name, t.public, t.settings, t.registry_login, t.secret_env FROM templates t
      WHERE ${Prisma.join(ownTemplateSql(actor, sql`t.id = ${id} AND t.hash_id = ${hashId}`), ' AND ')} FOR UPDATE`)
    // A concurrent change gave the template another hash. Another template may have this hash now.
    if (!row) throw noSuchTemplate()
    const [name, isPublic, settings, registryLogin, secretEnv] = row as [
      string,
      boolean,
      TemplateSettings,
      Buffer | null,
      Buffer | null,
    ]
    const stored = {
      registry: openJson<Registry>(secrets, registryLogin),
      env: openJson<Record<string, string>>(secrets, secretEnv),
    }
    return buildTemplateRow(actor, patchTemplate({ name, public: isPublic, settings }, stored, patch), secrets)
  }
}

function ownTemplateSql({ accountId }: Actor, condition: Prisma.Sql): Prisma.Sql[] {
  return [sql`t.deleted_at IS NULL`, sql`t.account_id = ${accountId}`, condition]
}

function noSuchTemplate(): DomainError {
  return new DomainError('NOT_FOUND', 'The account has no template with this hash.', { subject: null })
}
