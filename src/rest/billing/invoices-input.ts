// Reads which invoices are wanted, of either version.

import { z } from 'zod'
import type { LedgerFilter, LedgerKind } from '../../domain/billing/ledger.ts'
import { paymentKinds, usageKinds } from '../../domain/billing/statement.ts'
import { defaultPageSize, maxPageSize, type PageArguments } from '../../domain/pages.ts'
import { type Complain, isGiven, readColumns, reading, readLimit } from '../columns.ts'
import { readOrder } from '../filters.ts'
import { text } from '../values.ts'
import {
  afterToken,
  type BillField,
  checkInstants,
  latestFirst,
  pageLimit,
  readBills,
  readFlag,
  readPeriod,
  within,
} from './input.ts'
import { lineSchema } from './row.ts'

const instants = { when: 'instant', paid_on: 'instant', timestamp: 'instant' } as const
const fields: Record<string, BillField> = { ...instants, type: 'word', service: 'word' }
const ofInstants =
  '{"when": {"gte": 1764547200, "lte": 1767139200}}, in seconds since 1970, with gte, gt, lte, lt and eq'
const filtered = (types: string) =>
  text(`As JSON: ${ofInstants}, and {"type": {"in": [...]}} for some of ${types}.`).optional()

const period = {
  sdate: text('Only what was posted then or later, in seconds since 1970.').optional(),
  edate: text('Only what was posted then or before, in seconds since 1970.').optional(),
  inc_charges: text('Whether charges are in it, too: true or false, which is the default.').optional(),
}
export const statementQuery = z.object(period)
export const listQuery = statementQuery.extend({
  select_filters: filtered('payment, charge'),
  select_cols: text('The columns to return, as a list in JSON; ["*"] is all, as is nothing.').optional(),
})
export const pageQuery = z.object({
  select_filters: filtered('credit, refund, adjustment'),
  order_by: text('As JSON: [{"col": "when", "dir": "desc"}]. It wins over latest_first.').optional(),
  latest_first: latestFirst,
  limit: pageLimit(maxPageSize),
  after_token: afterToken,
})

/** What the kinds of the ledger are called in either version. */
const kindsByWord: Record<string, readonly LedgerKind[]> = {
  payment: paymentKinds,
  charge: usageKinds,
  credit: ['top_up'],
  refund: ['refund'],
  adjustment: ['adjustment'],
}

/** Of these kinds those that all filters name. A service that nobody pays by here names none. */
function kindsOf(kinds: readonly LedgerKind[], wanted: { words: string[] }[]): LedgerKind[] {
  const named = wanted.map(({ words }) =>
    words.flatMap(word => (Object.hasOwn(kindsByWord, word) ? kindsByWord[word] : [])),
  )
  return kinds.filter(kind => named.every(some => some.includes(kind)))
}

export function readList(query: z.output<typeof listQuery>): { filter: LedgerFilter; columns: string[] | undefined } {
  return reading(complain => {
    const filters = readBills(query.select_filters, fields, complain)
    const period = within(filters.instants, readPeriod(query, ['sdate', 'edate'], complain))
    checkInstants(period, 'edate', complain)
    const withCharges = readFlag(query.inc_charges, 'inc_charges', complain)
    // Who filters by the type says by that which are wanted.
    const kinds = kindsOf(
      withCharges || filters.words.some(({ name }) => name === 'type')
        ? [...paymentKinds, ...usageKinds]
        : paymentKinds,
      filters.words,
    )
    return { filter: { kinds, ...period }, columns: readColumns(query.select_cols, lineSchema, complain) }
  })
}

export function readPages(query: z.output<typeof pageQuery>) {
  return reading(complain => {
    const { instants: period, words } = readBills(query.select_filters, fields, complain)
    checkInstants(period, 'select_filters.when', complain)
    const isLatestFirst = readLatestFirst(query, complain)
    const limit = readLimit(query.limit, { otherwise: defaultPageSize, most: maxPageSize }, complain)
    const token = isGiven(query.after_token) ? query.after_token : undefined
    // The ledger is read from the newest entry on: the oldest are the end of it.
    const page: PageArguments = isLatestFirst ? { first: limit, after: token } : { last: limit, before: token }
    return { filter: { kinds: kindsOf(paymentKinds, words), ...period }, page, isLatestFirst }
  })
}

/** Everything is in the order in which it was posted, whichever of its instants is named. */
function readLatestFirst({ order_by, latest_first }: z.output<typeof pageQuery>, complain: Complain): boolean {
  const isLatestFirst = readFlag(latest_first, 'latest_first', complain)
  const [key] = readOrder(order_by, { fields: instants, otherwise: 'desc', single: true }, complain)
  return key ? key.direction === 'desc' : isLatestFirst
}
