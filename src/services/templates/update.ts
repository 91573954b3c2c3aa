import { Prisma } from '../../database/generated/client.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { itemGone, notFound } from '../../domain/errors.ts'
import { apiKeyActor } from '../../domain/events/actor.ts'
import { keepWrittenTexts, patchTemplate, type TemplatePatch } from '../../domain/templates/patch.ts'
import type { TemplateInput } from '../../domain/templates/templates.ts'
import { authorize } from '../authorize.ts'
import { isUniqueViolation } from '../database-errors.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { type IdempotentRequest, runAndRead } from '../idempotency.ts'
import { smallIds } from '../small-ids.ts'
import {
  buildTemplateRow,
  findConflict,
  lockTemplate,
  replaceTemplate,
  type TemplateRow,
  templateChanged,
} from './row.ts'
import { findTemplates, own, type Selected, type TemplateSelect } from './templates.ts'

type CreateTemplateInput = { input: TemplateInput; idempotencyKey?: string | null | undefined }
type UpdateTemplateInput = {
  id: number
  patch: TemplatePatch
  /** The hash that the template must have before the change. */
  expectedHashId?: string | undefined
  idempotencyKey?: string | null | undefined
}
type SavedTemplate<Select extends TemplateSelect> = { template: Selected<Select>; replayed: boolean }

const { sql } = Prisma

export function templateUpdateServices(deps: Deps) {
  const { database, secrets } = deps

  return {
    /** Creates a template. An account cannot have two equal templates. */
    async create<Select extends TemplateSelect>(
      actor: Actor,
      { input, idempotencyKey }: CreateTemplateInput,
      select: Select,
    ): Promise<SavedTemplate<Select>> {
      authorize(actor, 'templates.save', { id: undefined })
      const row = buildTemplateRow(actor, input, secrets)
      // The name `wish` is part of the hash that stored idempotency keys have.
      const request = { operation: 'templates.save', input: { wish: input }, idempotencyKey } as const
      return await save(
        actor,
        request,
        async () => row,
        tx => insertTemplate(tx, actor, row),
        select,
      )
    },

    /**
     * Changes a template. It keeps its id, and its hash changes with its visible settings. Parts that the patch does not
     * name stay as another request left them: where two concurrent patches name the same part, the later one wins.
     */
    async update<Select extends TemplateSelect>(
      actor: Actor,
      { id, patch, expectedHashId, idempotencyKey }: UpdateTemplateInput,
      select: Select,
    ): Promise<SavedTemplate<Select>> {
      authorize(actor, 'templates.save', { id })
      const request = { operation: 'templates.save', input: { id, patch, expectedHashId }, idempotencyKey } as const
      const patchRow = async (tx: Transaction) => {
        const stored = await lockTemplate(tx, secrets, actor, sql`t.id = ${id}::bigint`)
        if (!stored) throw notFound('Template', id)
        if (expectedHashId !== undefined && expectedHashId !== stored.hashId) throw templateChanged(id, stored.hashId)
        const input = keepWrittenTexts(patchTemplate(stored, patch), stored.settings)
        return buildTemplateRow(actor, input, secrets)
      }
      return await save(actor, request, patchRow, (tx, row) => replaceTemplate(tx, actor, id, row), select)
    },

    async delete(actor: Actor, id: number): Promise<void> {
      authorize(actor, 'templates.delete', { id })
      await transaction(database, async tx => {
        const { at } = tx
        // A deleted template cannot be rented with, so its secrets are erased.
        const [deleted] = await tx.prisma(prisma =>
          prisma.template.updateManyAndReturn({
            where: { ...own(actor), id: { in: smallIds([id]) } },
            data: { deletedAt: at, registryLogin: null, secretEnv: null },
            select: { name: true, hashId: true },
          }),
        )
        if (!deleted) throw notFound('Template', id)
        const before = { templateId: id, ...deleted }
        const event = {
          kind: 'TEMPLATE_DELETED' as const,
          accountId: actor.accountId,
          actor: apiKeyActor(actor),
          before,
        }
        await recordEvents(tx, [event], at)
      })
    },
  }

  /** Runs a creation or a change once per idempotency key, and reads the template that it saved. */
  async function save<Select extends TemplateSelect>(
    actor: Actor,
    request: IdempotentRequest,
    prepare: (tx: Transaction) => Promise<TemplateRow>,
    write: (tx: Transaction, row: TemplateRow) => Promise<number>,
    select: Select,
  ): Promise<SavedTemplate<Select>> {
    let hashId = ''
    const work = async (tx: Transaction) => {
      const row = await prepare(tx)
      hashId = row.hashId
      return { id: await write(tx, row) }
    }
    const read = async (tx: Transaction, { id }: { id: number }) => {
      const [template] = await tx.prisma(prisma => findTemplates(prisma, { id, deletedAt: null }, select))
      if (!template) throw itemGone('Template', id)
      return template
    }
    const saving = runAndRead(deps, actor, request, { work, read })
    const { answer, replayed } = await saving.catch(async (error: unknown) => {
      throw isUniqueViolation(error) ? await findConflict(database, hashId) : error
    })
    return { template: answer, replayed }
  }
}

async function insertTemplate(tx: Transaction, { accountId, apiKeyId }: Actor, row: TemplateRow): Promise<number> {
  const { at } = tx
  const data = { ...row, accountId, createdAt: at, updatedAt: at }
  const { id } = await tx.prisma(prisma => prisma.template.create({ data, select: { id: true } }))
  const after = { templateId: id, name: row.name, hashId: row.hashId }
  await recordEvents(tx, [{ accountId, actor: apiKeyActor({ apiKeyId }), kind: 'TEMPLATE_CREATED', after }], at)
  return id
}
