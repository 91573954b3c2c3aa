import { Prisma } from '../../database/generated/client.ts'
import { int4, text } from '../../database/row-types.ts'
import { withoutStatementName } from '../../database/statement-names.ts'
import { snapshot } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { notFound } from '../../domain/errors.ts'
import { defaultDiskMb } from '../../domain/offers/offers.ts'
import {
  parseTemplateSearchCursor,
  printTemplateSearchCursor,
  type TemplateCondition,
  type TemplateField,
  type TemplateSearch,
  templateFields,
} from '../../domain/templates/search.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import {
  findTemplates,
  findTemplatesInParts,
  own,
  type Selected,
  type TemplateSelect,
  visibleSql,
} from './templates.ts'

const { sql, join, raw } = Prisma

export function templateSearchServices(deps: DataDeps) {
  return {
    /** A page of the account's own and public templates that match all conditions, and the cursor of the next page. */
    async search<Select extends TemplateSelect>(
      actor: Actor,
      { conditions, order, limit, after }: TemplateSearch,
      select: Select,
    ): Promise<{ templates: Selected<Select>[]; next: string | null }> {
      authorize(actor, 'templates.list')
      const value = columnSql(order.field, actor)
      const all = [visibleSql(actor.accountId), ...conditions.map(condition => conditionSql(condition, actor))]
      const [direction, comparison] = order.direction === 'asc' ? [raw('ASC'), raw('>')] : [raw('DESC'), raw('<')]
      if (after !== undefined) {
        const { value: last, id } = parseTemplateSearchCursor(after, order)
        all.push(sql`(${value}, t.id) ${comparison} (${last}::${typeSql(order.field)}, ${id}::int)`)
      }
      const statement = sql`
        SELECT t.id, (${value})::text AS value FROM templates t WHERE ${join(all, ' AND ')}
        ORDER BY ${value} ${direction}, t.id ${direction} LIMIT ${limit + 1}`
      return await snapshot(deps.database, async tx => {
        const positions = await tx.query(withoutStatementName(statement), { id: int4, value: text })
        const page = positions.slice(0, limit)
        const ids = page.map(({ id }) => id)
        const last = positions.length > limit ? page.at(-1) : undefined
        return {
          templates: await tx.prisma(prisma => findTemplatesInParts(prisma, ids, select)),
          next: last ? printTemplateSearchCursor(last, order) : null,
        }
      })
    },

    /** The caller's own templates, last changed first. Any other `accountId` is not found. */
    async listOwn<Select extends TemplateSelect>(actor: Actor, accountId: bigint, limit: number, select: Select) {
      authorize(actor, 'templates.listOwn')
      if (accountId !== BigInt(actor.accountId)) throw notFound('Account', accountId)
      const { prisma } = deps.database
      const options = { orderBy: [{ updatedAt: 'desc' as const }, { id: 'desc' as const }], take: limit }
      const listed = await findTemplates(prisma, own(actor), { id: true }, options)
      return await findTemplatesInParts(
        prisma,
        listed.map(({ id }) => id),
        select,
      )
    },
  }
}

/** Number of instances that an account has rented with the template `t`. */
function rentalsSql(accountId: number): Prisma.Sql {
  return sql`(SELECT count(*)::int FROM instances i WHERE i.template_id = t.id AND i.account_id = ${accountId})`
}

const mode = `coalesce(t.settings ->> 'mode', 'sshProxy')`
const plainColumns: Record<Exclude<TemplateField, 'creatorId' | 'rentals'>, string> = {
  id: 't.id',
  hashId: 't.hash_id',
  name: 't.name',
  image: `(t.settings ->> 'image')`,
  description: `coalesce(t.settings #>> '{about,description}', '')`,
  private: 'NOT t.public',
  createdAt: 'extract(epoch FROM t.created_at)::float8',
  diskGb: `coalesce((t.settings ->> 'diskGb')::float8, ${defaultDiskMb / 1000})`,
  mode,
  usesSsh: `(${mode} <> 'args')`,
  directSsh: `(${mode} IN ('sshDirect', 'jupyterDirect'))`,
  directNotebook: `(${mode} = 'jupyterDirect')`,
  lab: `(t.settings ->> 'lab')::boolean`,
  recommended: 'false',
}

function columnSql(field: TemplateField, { accountId }: Actor): Prisma.Sql {
  if (field === 'rentals') return rentalsSql(accountId)
  if (field === 'creatorId') return sql`(CASE WHEN t.account_id = ${accountId} THEN t.account_id ELSE 0 END)`
  return raw(plainColumns[field])
}

function typeSql(field: TemplateField): Prisma.Sql {
  return raw({ number: 'float8', text: 'text', boolean: 'boolean' }[templateFields[field]])
}

const sqlOperators = { eq: raw('='), neq: raw('<>'), gt: raw('>'), gte: raw('>='), lt: raw('<'), lte: raw('<=') }

function conditionSql({ field, operator, values }: TemplateCondition, actor: Actor): Prisma.Sql {
  const column = columnSql(field, actor)
  const value = templateFields[field] === 'text' ? sql`lower(${column})` : sql`(${column})`
  const [type, texts] = [typeSql(field), values.map(String)]
  switch (operator) {
    case 'in':
      return sql`${value} = ANY(${texts}::${type}[])`
    case 'nin':
      return sql`${value} <> ALL(${texts}::${type}[])`
    case 'contains':
      return sql`strpos(${value}, ${texts[0]}) > 0`
    case 'startsWith':
      return sql`starts_with(${value}, ${texts[0]})`
    default:
      return sql`${value} ${sqlOperators[operator]} ${texts[0]}::${type}`
  }
}
