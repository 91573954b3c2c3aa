import { Prisma } from '../../database/generated/client.ts'
import type { Actor } from '../../domain/actor.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import {
  checkTemplateFilter,
  parseTemplateCursor,
  printTemplateCursor,
  type TemplateFilter,
} from '../../domain/templates/page.ts'
import { isTemplateHash, oneByName } from '../../domain/templates/templates.ts'
import { textProblem } from '../../domain/texts.ts'
import { authorize, authorizeEach } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { asSelected, type ColumnSelect, type SelectedColumns } from '../selected.ts'
import { smallIds } from '../small-ids.ts'
import { textFilters } from '../text-conditions.ts'

const { sql } = Prisma

export type TemplateSelect = ColumnSelect<'Template', 'id', { readonly _count?: RentalsSelect }>
type RentalsSelect = ReturnType<typeof rentalsSelect>['_count']
export type Selected<Select> = SelectedColumns<'Template', 'id', Select, { _count: { instances: number } }>
type FindOptions = Pick<Prisma.TemplateFindManyArgs, 'orderBy' | 'take'>

export function templateReadServices({ database }: DataDeps) {
  return {
    /** The account's own templates and all public templates, newest first. */
    async page<Select extends TemplateSelect>(
      actor: Actor,
      filter: TemplateFilter,
      page: PageArguments,
      select: Select,
    ): Promise<PageResult<Selected<Select>>> {
      authorize(actor, 'templates.list')
      checkTemplateFilter(filter)
      const { limit, backward, cursor } = parsePage(page)
      const after = cursor === undefined ? {} : { id: { [backward ? 'gt' : 'lt']: parseTemplateCursor(cursor) } }
      const found = await findTemplates(database.prisma, { AND: [matching(actor, filter), after] }, select, {
        orderBy: { id: backward ? 'asc' : 'desc' },
        take: limit + 1,
      })
      return pageOf(found, { limit, backward, cursor }, ({ id }) => printTemplateCursor(id))
    },

    async count(actor: Actor, filter: TemplateFilter): Promise<number> {
      authorize(actor, 'templates.list')
      checkTemplateFilter(filter)
      return await database.prisma.template.count({ where: matching(actor, filter) })
    },

    /** The visible template that has this hash now, if any. A changed template is not found by its old hash. */
    async byHash<Select extends TemplateSelect>(actor: Actor, hashId: string, select: Select) {
      authorize(actor, 'templates.get', { id: undefined })
      if (!isTemplateHash(hashId)) return undefined
      return (await findTemplates(database.prisma, { ...visible(actor), hashId }, select))[0]
    },

    /** The account's own template with this name. Names are not unique, so several are refused. */
    async ownByName<Select extends TemplateSelect>(actor: Actor, name: string, select: Select) {
      authorize(actor, 'templates.get', { id: undefined })
      if (textProblem(name)) return undefined
      return oneByName(await findTemplates(database.prisma, { ...own(actor), name }, select, { take: 2 }))
    },

    async byIds<Select extends TemplateSelect>(actor: Actor, ids: readonly number[], select: Select) {
      authorizeEach(actor, 'templates.get', ids.map(BigInt))
      return await findTemplates(database.prisma, { ...visible(actor), id: { in: smallIds(ids) } }, select)
    },
  }
}

/** Internal: does not authorize; callers must have. */
export async function findTemplates<Select extends TemplateSelect>(
  prisma: Prisma.TransactionClient,
  where: Prisma.TemplateWhereInput,
  select: Select,
  options: FindOptions = {},
): Promise<Selected<Select>[]> {
  return asSelected(await prisma.template.findMany({ ...options, where, select }))
}

/** Templates that are read at once: Prisma takes a few milliseconds for as many with the longest readme. */
const partSize = 100

/** Templates by id, in parts, since a list can have many. Internal: does not authorize; callers must have. */
export async function findTemplatesInParts<Select extends TemplateSelect>(
  prisma: Prisma.TransactionClient,
  ids: readonly number[],
  select: Select,
): Promise<Selected<Select>[]> {
  const found = new Map<number, Selected<Select>>()
  for (let start = 0; start < ids.length; start += partSize) {
    const part = await findTemplates(prisma, { id: { in: ids.slice(start, start + partSize) } }, select)
    for (const template of part) found.set(template.id, template)
  }
  return ids.flatMap(id => found.get(id) ?? [])
}

export function own({ accountId }: Actor): Prisma.TemplateWhereInput {
  return { accountId, deletedAt: null }
}

/** The templates that an account can read and rent with: its own, and public ones of accounts that are not disabled. */
export function visible({ accountId }: Actor): Prisma.TemplateWhereInput {
  return { deletedAt: null, OR: [{ accountId }, { public: true, account: { disabledAt: null } }] }
}

/** The same rule as `visible`, for the alias `t`. The account can be a column of the statement. */
export function visibleSql(accountId: number | Prisma.Sql): Prisma.Sql {
  const isEnabled = sql`(SELECT a.disabled_at IS NULL FROM accounts a WHERE a.id = t.account_id)`
  return sql`t.deleted_at IS NULL AND (t.account_id = ${accountId} OR t.public AND ${isEnabled})`
}

/** The number of instances that an account has rented with a template. */
export function rentalsSelect({ accountId }: Actor) {
  return { _count: { select: { instances: { where: { accountId } } } } } satisfies Prisma.TemplateSelect
}

function matching(actor: Actor, { mine, name = {}, public: isPublic }: TemplateFilter): Prisma.TemplateWhereInput {
  const owner = mine === undefined ? {} : { accountId: mine ? actor.accountId : { not: actor.accountId } }
  const names = textFilters(name).map(filter => ({ name: filter }))
  return { AND: [visible(actor), owner, isPublic === undefined ? {} : { public: isPublic }, ...names] }
}
