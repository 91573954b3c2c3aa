// Templates as REST clients use them: named by hash, and patched.

import { Prisma } from '../../database/generated/client.ts'
import { transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError } from '../../domain/errors.ts'
import { patchTemplate, type TemplatePatch } from '../../domain/templates/patch.ts'
import { isTemplateHash, type TemplateInput } from '../../domain/templates/templates.ts'
import { authorize, authorizeOperation } from '../authorize.ts'
import { isUniqueViolation } from '../database-errors.ts'
import type { Deps } from '../deps.ts'
import { buildTemplateRow, findConflict, lockTemplate, replaceTemplate } from './row.ts'
import { findTemplates, own, type Selected, type TemplateSelect } from './templates.ts'
import { templateUpdateServices } from './update.ts'

const { sql } = Prisma

export function templateByHashServices(deps: Deps) {
  const { database, secrets } = deps
  const { create, delete: remove } = templateUpdateServices(deps)

  return {
    /** Saves a new template, or finds an equal template of the account. */
    async findOrCreate<Select extends TemplateSelect>(
      actor: Actor,
      { input, idempotencyKey }: { input: TemplateInput; idempotencyKey?: string | undefined },
      select: Select,
    ): Promise<{ template: Selected<Select>; existed: boolean }> {
      try {
        const { template } = await create(actor, { input, idempotencyKey }, select)
        return { template, existed: false }
      } catch (error) {
        const equal = error instanceof DomainError && error.code === 'CONFLICT' ? error.details.subject : undefined
        const [template] = equal
          ? await findTemplates(database.prisma, { ...own(actor), id: Number(equal.id) }, select)
          : []
        if (!template) throw error
        return { template, existed: true }
      }
    },

    /** Patches a template. It keeps its id, and its hash changes with its visible settings. */
    async updateByHash<Select extends TemplateSelect>(
      actor: Actor,
      hashId: string,
      patch: TemplatePatch,
      select: Select,
    ): Promise<{ template: Selected<Select>; changed: boolean }> {
      authorizeOperation(actor, 'templates.save')
      const id = await idOf(actor, hashId)
      authorize(actor, 'templates.save', { id })
      let newHash = hashId
      await transaction(database, async tx => {
        const stored = await lockTemplate(tx, secrets, actor, sql`t.id = ${id} AND t.hash_id = ${hashId}`)
        // A concurrent change gave the template another hash. Another template may have this hash now.
        if (!stored) throw noSuchTemplate()
        const row = buildTemplateRow(actor, patchTemplate(stored, patch), secrets)
        newHash = row.hashId
        await replaceTemplate(tx, actor, id, row)
      }).catch(async (error: unknown) => {
        throw isUniqueViolation(error) ? await findConflict(database, newHash) : error
      })
      const [template] = await findTemplates(database.prisma, { id }, select)
      if (!template) throw noSuchTemplate()
      return { template, changed: newHash !== hashId }
    },

    async deleteByHash(actor: Actor, hashId: string): Promise<number> {
      authorizeOperation(actor, 'templates.delete')
      const id = await idOf(actor, hashId)
      await remove(actor, id)
      return id
    },
  }

  async function idOf(actor: Actor, hashId: string): Promise<number> {
    const [template] = isTemplateHash(hashId)
      ? await findTemplates(database.prisma, { ...own(actor), hashId }, { id: true })
      : []
    if (!template) throw noSuchTemplate()
    return template.id
  }
}

function noSuchTemplate(): DomainError {
  return new DomainError('NOT_FOUND', 'The account has no template with this hash.', { subject: null })
}
