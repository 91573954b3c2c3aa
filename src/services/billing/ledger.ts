import { Prisma } from '../../database/generated/client.ts'
import { modelColumnsOf, recordsOf, selectListSql, withoutStatementName } from '../../database/rows.ts'
import { snapshot, type Transaction } from '../../database/transaction.ts'
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
const { accountId: _, meterId: __, idempotencyKey: ___, ...readableFields } = Prisma.LedgerEntryScalarFieldEnum
const entryColumns = modelColumnsOf(readableFields)
const meterColumns = modelColumnsOf({ instanceId: 'instanceId', volumeId: 'volumeId', apiKeyId: 'apiKeyId' })
const ledgerSourceSql = sql`ledger_entries e LEFT JOIN meters m ON m.id = e.meter_id`

function subjectConditions(subjects: readonly LedgerSubject[]): Prisma.Sql[] {
  const idsOf = (type: LedgerSubject['type']) => subjects.filter(one => one.type === type).map(({ id }) => String(id))
  return [
    sql`m.instance_id = ANY(${idsOf('Instance')}::bigint[])`,
    sql`m.volume_id = ANY(${idsOf('Volume')}::bigint[])`,
    sql`e.meter_id IS NULL AND e.account_id = ANY(${idsOf('Account')}::bigint[])`,
  ]
}

type CountedLedger = PageResult<LedgerEntry> & { total: number }

export function ledgerServices({ database }: DataDeps) {
  return {
    /** The account's ledger, newest entry first. */
    async ledger(actor: Actor, filter: LedgerFilter, page: PageArguments): Promise<PageResult<LedgerEntry>> {
      authorize(actor, 'billing.ledger')
      checkLedgerFilter(filter)
      return await readLedger(database, actor, filter, page)
    },

    async countLedger(actor: Actor, filter: LedgerFilter): Promise<number> {
      authorize(actor, 'billing.ledger')
      checkLedgerFilter(filter)
      return await countEntries(database, actor, filter)
    },

    /** The same page as `ledger` and the number of entries on all pages, from one snapshot. */
    async countedLedger(actor: Actor, filter: LedgerFilter, page: PageArguments): Promise<CountedLedger> {
      authorize(actor, 'billing.ledger')
      checkLedgerFilter(filter)
      return await snapshot(database, async tx => {
        const total = await countEntries(tx, actor, filter)
        return { ...(await readLedger(tx, actor, filter, page)), total }
      })
    },

    /** Entries of the account by id. Entries of other accounts are left out. */
    async entriesByIds(actor: Actor, ids: readonly bigint[]): Promise<LedgerEntry[]> {
      authorize(actor, 'billing.ledger')
      const conditions = [...ledgerFilterSql(actor, {}), sql`e.id = ANY(${ids.map(String)}::bigint[])`]
      return await findEntries(database, conditions, sql`e.id`, ids.length)
    },
  }
}

async function readLedger(
  database: Pick<Transaction, 'rows'>,
  actor: Actor,
  filter: LedgerFilter,
  page: PageArguments,
): Promise<PageResult<LedgerEntry>> {
  const { limit, backward, cursor } = parsePage(page)
  const conditions = ledgerFilterSql(actor, filter)
  if (cursor !== undefined) {
    const id = String(parseLedgerCursor(cursor))
    conditions.push(backward ? sql`e.id > ${id}::bigint` : sql`e.id < ${id}::bigint`)
  }
  const found = await findEntries(database, conditions, backward ? sql`e.id ASC` : sql`e.id DESC`, limit + 1)
  return pageOf(found, { limit, backward, cursor }, ({ id }) => printLedgerCursor(id))
}

async function countEntries(database: Pick<Transaction, 'rows'>, actor: Actor, filter: LedgerFilter): Promise<number> {
  const conditions = join(ledgerFilterSql(actor, filter), ' AND ')
  const [row] = await database.rows(
    withoutStatementName(sql`SELECT count(*)::int FROM ${ledgerSourceSql} WHERE ${conditions}`),
  )
  return row?.[0] as number
}

export async function findEntries(
  database: Pick<Transaction, 'rows'>,
  conditions: Prisma.Sql[],
  order: Prisma.Sql,
  limit: number,
): Promise<LedgerEntry[]> {
  const columns = join([selectListSql('e', entryColumns), selectListSql('m', meterColumns)])
  const statement = sql`
    SELECT ${columns} FROM ${ledgerSourceSql} WHERE ${join(conditions, ' AND ')} ORDER BY ${order} LIMIT ${limit}`
  const rows = await database.rows(withoutStatementName(statement))
  return rows.map(row => {
    const [entry, meter] = recordsOf(row, entryColumns, meterColumns)
    const { periodStart: startsAt, periodEnd: endsAt, ...rest } = entry as Record<string, unknown>
    return { ...rest, ...meter, startsAt, endsAt } as LedgerEntry
  })
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
