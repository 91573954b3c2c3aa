import { Prisma } from '../../database/generated/client.ts'
import { int4 } from '../../database/row-types.ts'
import { readingOf, type Source } from '../../database/selection/reading.ts'
import type { Selected, SelectOf } from '../../database/selection/selected.ts'
import { withoutStatementName } from '../../database/statement-names.ts'
import type { Statements } from '../../database/statements.ts'
import { snapshot } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import {
  checkLedgerFilter,
  type LedgerEntry,
  type LedgerFilter,
  type LedgerSubject,
  parseLedgerCursor,
  printLedgerCursor,
} from '../../domain/billing/ledger.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { instantFilterSql } from '../instant-filter.ts'

const { sql, join } = Prisma

const meterJoin = sql`LEFT JOIN meters m ON m.id = e.meter_id`
/** Where statements of entries `e` have the rows of a selection. */
const source: Source<LedgerEntry> = {
  model: 'LedgerEntry',
  alias: 'e',
  relations: { meter: { model: 'Meter', alias: 'm', join: meterJoin, optional: true } },
}

export type LedgerEntrySelect = SelectOf<LedgerEntry> & { readonly id: true }
export type SelectedEntry<Select> = Selected<LedgerEntry, Select> & { id: bigint }
type EntryPage<Select> = PageResult<SelectedEntry<Select>>

function subjectConditions(subjects: readonly LedgerSubject[]): Prisma.Sql[] {
  const idsOf = (type: LedgerSubject['type']) => subjects.filter(one => one.type === type).map(({ id }) => String(id))
  return [
    sql`m.instance_id = ANY(${idsOf('Instance')}::bigint[])`,
    sql`m.volume_id = ANY(${idsOf('Volume')}::bigint[])`,
    sql`e.meter_id IS NULL AND e.account_id = ANY(${idsOf('Account')}::bigint[])`,
  ]
}

export function ledgerServices({ database }: DataDeps) {
  return {
    /** The account's ledger, newest entry first. */
    async ledger<const Select extends LedgerEntrySelect>(
      actor: Actor,
      filter: LedgerFilter,
      page: PageArguments,
      select: Select,
    ): Promise<EntryPage<Select>> {
      authorize(actor, 'billing.ledger')
      checkLedgerFilter(filter)
      return await readLedger(database, actor, { filter, page }, select)
    },

    async countLedger(actor: Actor, filter: LedgerFilter): Promise<number> {
      authorize(actor, 'billing.ledger')
      checkLedgerFilter(filter)
      return await countEntries(database, actor, filter)
    },

    /** The same page as `ledger` and the number of entries on all pages, from one snapshot. */
    async countedLedger<const Select extends LedgerEntrySelect>(
      actor: Actor,
      filter: LedgerFilter,
      page: PageArguments,
      select: Select,
    ): Promise<EntryPage<Select> & { total: number }> {
      authorize(actor, 'billing.ledger')
      checkLedgerFilter(filter)
      return await snapshot(database, async tx => {
        const total = await countEntries(tx, actor, filter)
        return { ...(await readLedger(tx, actor, { filter, page }, select)), total }
      })
    },

    /** Entries of the account by id. Entries of other accounts are left out. */
    async entriesByIds<const Select extends LedgerEntrySelect>(actor: Actor, ids: readonly bigint[], select: Select) {
      authorize(actor, 'billing.ledger')
      const conditions = [...ledgerFilterSql(actor, {}), sql`e.id = ANY(${ids.map(String)}::bigint[])`]
      return await findEntries(database, { conditions, order: sql`e.id`, limit: ids.length }, select)
    },
  }
}

async function readLedger<const Select extends LedgerEntrySelect>(
  database: Pick<Statements, 'read'>,
  actor: Actor,
  { filter, page }: { filter: LedgerFilter; page: PageArguments },
  select: Select,
): Promise<EntryPage<Select>> {
  const { limit, backward, cursor } = parsePage(page)
  const conditions = ledgerFilterSql(actor, filter)
  if (cursor !== undefined) {
    const id = String(parseLedgerCursor(cursor))
    conditions.push(backward ? sql`e.id > ${id}::bigint` : sql`e.id < ${id}::bigint`)
  }
  const order = backward ? sql`e.id ASC` : sql`e.id DESC`
  const found = await findEntries(database, { conditions, order, limit: limit + 1 }, select)
  return pageOf(found, { limit, backward, cursor }, ({ id }) => printLedgerCursor(id))
}

async function countEntries(database: Pick<Statements, 'query'>, actor: Actor, filter: LedgerFilter): Promise<number> {
  const conditions = join(ledgerFilterSql(actor, filter), ' AND ')
  const [row] = await database.query(
    withoutStatementName(sql`SELECT count(*)::int AS total FROM ledger_entries e ${meterJoin} WHERE ${conditions}`),
    { total: int4 },
  )
  return row?.total ?? 0
}

/** Reads what is selected of entries `e`. Internal: does not authorize; callers must have. */
export async function findEntries<const Select extends LedgerEntrySelect>(
  database: Pick<Statements, 'read'>,
  { conditions, order, limit }: { conditions: Prisma.Sql[]; order: Prisma.Sql; limit: number },
  select: Select,
): Promise<SelectedEntry<Select>[]> {
  const reading = readingOf(source, select, [meterJoin])
  const statement = sql`
    SELECT ${reading.columns} FROM ledger_entries e ${reading.joins}
    WHERE ${join(conditions, ' AND ')} ORDER BY ${order} LIMIT ${limit}`
  const found = await database.read(withoutStatementName(statement), reading)
  // Safe: every selection of an entry has its `id`.
  return found as SelectedEntry<Select>[]
}

/** Conditions on entries `e` and their meters `m`: the account's entries that match the filter. */
export function ledgerFilterSql({ accountId }: Actor, { kinds, subjects, postedAt = {} }: LedgerFilter): Prisma.Sql[] {
  return [
    sql`e.account_id = ${accountId}`,
    ...(kinds ? [sql`e.kind = ANY(${[...kinds]}::ledger_kind[])`] : []),
    ...(subjects ? [sql`(${join(subjectConditions(subjects), ' OR ')})`] : []),
    ...instantFilterSql(sql`e.posted_at`, postedAt),
  ]
}
