import { Prisma } from '../../database/generated/client.ts'
import { enumeration, int4, int8, nullable, text, timestamptz } from '../../database/row-types.ts'
import { columnsSql, withoutStatementName } from '../../database/rows.ts'
import type { Statements } from '../../database/statements.ts'
import { snapshot } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import {
  checkLedgerFilter,
  type LedgerEntry,
  type LedgerFilter,
  type LedgerKind,
  type LedgerSubject,
  parseLedgerCursor,
  printLedgerCursor,
} from '../../domain/billing/ledger.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { instantFilterSql } from '../instant-filter.ts'

const { sql, join } = Prisma
const entryRow = {
  ...{ id: int8, kind: enumeration<LedgerKind>(), amountNanos: int8, balanceAfterNanos: int8 },
  ...{ periodStart: nullable(timestamptz), periodEnd: nullable(timestamptz), rateNanos: nullable(int8) },
  ...{ carried: nullable(int4), note: nullable(text), postedAt: timestamptz },
}
const meterRow = { instanceId: nullable(int8), volumeId: nullable(int8), apiKeyId: nullable(int4) }
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
  database: Pick<Statements, 'query'>,
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

async function countEntries(database: Pick<Statements, 'query'>, actor: Actor, filter: LedgerFilter): Promise<number> {
  const conditions = join(ledgerFilterSql(actor, filter), ' AND ')
  const [row] = await database.query(
    withoutStatementName(sql`SELECT count(*)::int AS total FROM ${ledgerSourceSql} WHERE ${conditions}`),
    { total: int4 },
  )
  return row?.total ?? 0
}

export async function findEntries(
  database: Pick<Statements, 'query'>,
  conditions: Prisma.Sql[],
  order: Prisma.Sql,
  limit: number,
): Promise<LedgerEntry[]> {
  const columns = join([columnsSql('e', entryRow), columnsSql('m', meterRow)])
  const statement = sql`
    SELECT ${columns} FROM ${ledgerSourceSql} WHERE ${join(conditions, ' AND ')} ORDER BY ${order} LIMIT ${limit}`
  const rows = await database.query(withoutStatementName(statement), { ...entryRow, ...meterRow })
  return rows.map(({ periodStart, periodEnd, ...entry }) => ({ ...entry, startsAt: periodStart, endsAt: periodEnd }))
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
