// Parses the parameters that select invoices, for both versions of the list.

import { z } from 'zod'
import type { LedgerFilter, LedgerKind } from '../../domain/billing/ledger.ts'
import { paymentKinds, usageKinds } from '../../domain/billing/statement.ts'
import { defaultPageSize, maxPageSize, type PageArguments } from '../../domain/pages.ts'
import { parseOrder } from '../filters.ts'
import { type Complain, collectIssues, isGiven, parseColumns, parseLimit } from '../list-parameters.ts'
import { text } from '../values.ts'
import {
  afterTokenParameter,
  type BillColumnKind,
  checkPeriod,
  intersectPeriods,
  latestFirstParameter,
  limitParameter,
  type OpenPeriod,
  parseBillFilter,
  parseFlag,
  parsePeriod,
} from './input.ts'
import { statementLineSchema } from './invoices-row.ts'

const instantColumns = { when: 'instant', paid_on: 'instant', timestamp: 'instant' } as const
const filterColumns: Record<string, BillColumnKind> = { ...instantColumns, type: 'word', service: 'word' }
const instantFilterExample =
  '{"when": {"gte": 1764547200, "lte": 1767139200}}, in seconds since 1970, with the operators gte, gt, lte, lt and eq'
const selectFiltersParameter = (types: string) =>
  text(`Filters, as JSON: ${instantFilterExample}; and {"type": {"in": [...]}}, with the values ${types}.`).optional()

const periodParameters = {
  sdate: text('Only entries posted at this instant or later, in seconds since 1970.').optional(),
  edate: text('Only entries posted at this instant or earlier, in seconds since 1970.').optional(),
  inc_charges: text('Whether to include charges: true or false. The default is false.').optional(),
}
export const statementQuerySchema = z.object(periodParameters)
export const invoiceListQuerySchema = statementQuerySchema.extend({
  select_filters: selectFiltersParameter('payment, charge'),
  select_cols: text('The columns to return, as a JSON list. The default, ["*"], returns all columns.').optional(),
})
export const invoicePageQuerySchema = z.object({
  select_filters: selectFiltersParameter('credit, refund, adjustment'),
  order_by: text('The order, as JSON: [{"col": "when", "dir": "desc"}]. Overrides latest_first.').optional(),
  latest_first: latestFirstParameter,
  limit: limitParameter(maxPageSize),
  after_token: afterTokenParameter,
})

/** The ledger kinds that each type name selects, in either version. */
const kindsByWord: Record<string, readonly LedgerKind[]> = {
  payment: paymentKinds,
  charge: usageKinds,
  credit: ['top_up'],
  refund: ['refund'],
  adjustment: ['adjustment'],
}

/** Keeps the kinds that every filter names. A name that the ledger does not know matches no kind. */
function selectKinds(kinds: readonly LedgerKind[], wanted: { words: string[] }[]): LedgerKind[] {
  const named = wanted.map(({ words }) =>
    words.flatMap(word => (Object.hasOwn(kindsByWord, word) ? kindsByWord[word] : [])),
  )
  return kinds.filter(kind => named.every(some => some.includes(kind)))
}

export function parseListQuery(query: z.output<typeof invoiceListQuerySchema>): {
  filter: LedgerFilter
  columns: string[] | undefined
} {
  return collectIssues(complain => {
    const filters = parseBillFilter(query.select_filters, filterColumns, complain)
    const period = intersectPeriods(filters.period, parsePeriod(query, ['sdate', 'edate'], complain))
    checkPeriod(period, 'edate', complain)
    const withCharges = parseFlag(query.inc_charges, 'inc_charges', complain)
    // A filter on the type replaces inc_charges.
    const kinds = selectKinds(
      withCharges || filters.words.some(({ name }) => name === 'type')
        ? [...paymentKinds, ...usageKinds]
        : paymentKinds,
      filters.words,
    )
    return {
      filter: { kinds, ...postedIn(period) },
      columns: parseColumns(query.select_cols, statementLineSchema, complain),
    }
  })
}

export function parsePageQuery(query: z.output<typeof invoicePageQuerySchema>) {
  return collectIssues(complain => {
    const { period, words } = parseBillFilter(query.select_filters, filterColumns, complain)
    checkPeriod(period, 'select_filters.when', complain)
    const isLatestFirst = parseLatestFirst(query, complain)
    const limit = parseLimit(query.limit, { fallback: defaultPageSize, maximum: maxPageSize }, complain)
    const token = isGiven(query.after_token) ? query.after_token : undefined
    // The ledger lists the newest entry first, so its last entries are the oldest.
    const page: PageArguments = isLatestFirst ? { first: limit, after: token } : { last: limit, before: token }
    return { filter: { kinds: selectKinds(paymentKinds, words), ...postedIn(period) }, page, isLatestFirst }
  })
}

function postedIn({ from, to }: OpenPeriod): Pick<LedgerFilter, 'postedAt'> {
  return { postedAt: { gte: from, lt: to } }
}

/** All these columns contain the instant of posting, so they sort alike. */
function parseLatestFirst(
  { order_by, latest_first }: z.output<typeof invoicePageQuerySchema>,
  complain: Complain,
): boolean {
  const isLatestFirst = parseFlag(latest_first, 'latest_first', complain)
  const [key] = parseOrder(order_by, { fields: instantColumns, defaultDirection: 'desc', single: true }, complain)
  return key ? key.direction === 'desc' : isLatestFirst
}
