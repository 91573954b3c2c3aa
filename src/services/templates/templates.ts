import { Prisma } from '../../database/generated/client.ts'
import { withoutStatementName } from '../../database/rows.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import {
  checkTemplateFilter,
  parseTemplateCursor,
  printTemplateCursor,
  type TemplateFilter,
} from '../../domain/templates/page.ts'
import { isTemplateHash, oneByName, type Template } from '../../domain/templates/templates.ts'
import { textProblem } from '../../domain/texts.ts'
import { authorize, authorizeEach } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { textConditionsSql } from '../text-conditions.ts'

const { sql, join, raw } = Prisma

export function templateReadServices(deps: DataDeps) {
  return {
    /** The account's own templates and all public templates, newest first. */
    async page(actor: Actor, filter: TemplateFilter, page: PageArguments): Promise<PageResult<Template>> {
      authorize(actor, 'templates.list')
      checkTemplateFilter(filter)
      const { limit, backward, cursor } = parsePage(page)
      const conditions = filterSql(actor, filter)
      if (cursor !== undefined) {
        conditions.push(sql`t.id ${raw(backward ? '>' : '<')} ${parseTemplateCursor(cursor)}`)
      }
      const order = raw(backward ? 't.id ASC' : 't.id DESC')
      const found = await findTemplates(deps, actor, conditions, sql`ORDER BY ${order} LIMIT ${limit + 1}`)
      return pageOf(found, { limit, backward, cursor }, ({ id }) => printTemplateCursor(id))
    },

    async count(actor: Actor, filter: TemplateFilter): Promise<number> {
      authorize(actor, 'templates.list')
      checkTemplateFilter(filter)
      const conditions = join(filterSql(actor, filter), ' AND ')
      const [row] = await deps.database.rows(
        withoutStatementName(sql`SELECT count(*)::int FROM templates t WHERE ${conditions}`),
      )
      return row?.[0] as number
    },

    /** The visible template that has this hash now, if any. A changed template is not found by its old hash. */
    async byHash(actor: Actor, hashId: string): Promise<Template | undefined> {
      authorize(actor, 'templates.get', { id: undefined })
      if (!isTemplateHash(hashId)) return undefined
      return (await findTemplates(deps, actor, [...visibleSql(actor), sql`t.hash_id = ${hashId}`]))[0]
    },

    /** The account's own template with this name. Names are not unique, so several are refused. */
    async ownByName(actor: Actor, name: string): Promise<Template | undefined> {
      authorize(actor, 'templates.get', { id: undefined })
      if (textProblem(name)) return undefined
      const own = [sql`t.deleted_at IS NULL`, sql`t.account_id = ${actor.accountId}`, sql`t.name = ${name}`]
      return oneByName(await findTemplates(deps, actor, own, sql`LIMIT 2`))
    },

    async byIds(actor: Actor, ids: readonly number[]): Promise<Template[]> {
      authorizeEach(actor, 'templates.get', ids.map(BigInt))
      return await findTemplates(deps, actor, [...visibleSql(actor), sql`t.id = ANY(${ids}::bigint[])`])
    },
  }
}

/** Internal: does not authorize; callers must have. Reads no secrets. */
export async function findTemplates(
  { database }: { database: Pick<Transaction, 'rows'> },
  actor: Actor,
  conditions: Prisma.Sql[],
  end = Prisma.empty,
): Promise<Template[]> {
  const statement = sql`
    SELECT ${templateColumns(actor)} FROM templates t WHERE ${join(conditions, ' AND ')} ${end}`
  const rows = await database.rows(withoutStatementName(statement))
  return rows.map(toTemplate)
}

/** The columns that `toTemplate` reads, for the table alias `t`. */
export function templateColumns({ accountId }: Actor): Prisma.Sql {
  return sql`t.id, t.hash_id, t.name, t.public, t.settings, t.account_id = ${accountId}, t.created_at, t.updated_at,
    ${rentalsSql(accountId)}`
}

export function toTemplate(row: unknown[]): Template {
  const [id, hashId, name, isPublic, settings, mine, createdAt, updatedAt, rentals] = row
  return { id, hashId, name, public: isPublic, settings, mine, createdAt, updatedAt, rentals } as Template
}

/** Number of instances that an account has rented with the template `t`. */
export function rentalsSql(accountId: number): Prisma.Sql {
  return sql`(SELECT count(*)::int FROM instances i WHERE i.template_id = t.id AND i.account_id = ${accountId})`
}

/** The templates that an account can read and rent with: its own templates and all public templates. */
export function visibleSql({ accountId }: Actor): Prisma.Sql[] {
  return [sql`t.deleted_at IS NULL`, sql`(t.account_id = ${accountId} OR t.public)`]
}

function filterSql(actor: Actor, { mine, name, public: isPublic }: TemplateFilter): Prisma.Sql[] {
  return [
    ...visibleSql(actor),
    ...(mine === undefined ? [] : [sql`(t.account_id = ${actor.accountId}) = ${mine}`]),
    ...(isPublic === undefined ? [] : [sql`t.public = ${isPublic}`]),
    ...(name ? textConditionsSql(sql`t.name`, name) : []),
  ]
}
