import { z } from 'zod'
import { maxStatementEntries } from '../../domain/billing/statement.ts'
import { usdToNumber } from '../../domain/money.ts'
import { mapInTurns } from '../../turns/in-turns.ts'
import { selectColumns } from '../list-parameters.ts'
import { type Route, route } from '../route.ts'
import { integer, number } from '../values.ts'
import {
  invoiceListQuerySchema,
  invoicePageQuerySchema,
  parseListQuery,
  parsePageQuery,
  statementQuerySchema,
} from './invoices-input.ts'
import {
  entrySelect,
  invoiceRow,
  invoiceSchema,
  type StatementColumns,
  type StatementLine,
  statementColumnsSchema,
  statementLineRow,
  statementLineSchema,
} from './invoices-row.ts'

const unpagedNote = `The oldest entries come first. A period with more than ${maxStatementEntries} entries is refused.`

export const invoiceRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/invoices/',
    operationId: 'listInvoicePages',
    tag: 'Billing',
    summary: 'List payments in pages',
    about: 'Credit, refunds and adjustments of the account, in the order of posting.',
    operation: 'billing.ledger',
    query: invoicePageQuerySchema,
    example: { query: { latest_first: 'true', limit: '10' } },
    result: z.object({
      success: z.literal(true).describe('Always true.'),
      count: integer('The number of payments on this page.'),
      total: integer('The number of payments on all pages.'),
      results: z.array(invoiceSchema).describe('The payments of this page.'),
      next_token: z.string().nullable().describe('The after_token of the next page; null on the last page.'),
    }),
    answer: async ({ services, actor, query }) => {
      const { filter, page, isLatestFirst } = parsePageQuery(query)
      const { billing } = services
      const { edges, total, ...more } = await billing.countedLedger(actor, filter, page, entrySelect)
      const ordered = isLatestFirst ? edges : edges.toReversed()
      const hasMore = isLatestFirst ? more.hasNextPage : more.hasPreviousPage
      return {
        success: true as const,
        count: edges.length,
        total,
        results: ordered.map(({ node }) => invoiceRow(node)),
        next_token: (hasMore && ordered.at(-1)?.cursor) || null,
      }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v0/invoices/',
    operationId: 'listInvoices',
    tag: 'Billing',
    summary: 'List payments and charges',
    about: `The entries of the account's ledger. ${unpagedNote}`,
    operation: 'billing.ledger',
    query: invoiceListQuerySchema,
    example: { query: { inc_charges: 'true' } },
    result: z.array(z.union([statementLineSchema, statementColumnsSchema])),
    answer: async ({ services, actor, query }) => {
      const { filter, columns } = parseListQuery(query)
      const { entries } = await services.billing.statement(actor, filter, entrySelect)
      return await mapInTurns(entries, entry =>
        selectColumns<StatementLine, StatementColumns>(statementLineRow(entry), columns),
      )
    },
  }),
  route({
    method: 'GET',
    path: '/api/v0/users/me/invoices/',
    operationId: 'getStatement',
    tag: 'Billing',
    summary: 'Get a statement of the account',
    about: `The entries of the account's ledger, and its current credit. ${unpagedNote}`,
    operation: 'billing.ledger',
    query: statementQuerySchema,
    example: { query: { sdate: '1764547200' } },
    result: z.object({
      invoices: z.array(statementLineSchema).describe('The entries of the period.'),
      current: z
        .object({
          charges: number('Costs that are not posted yet, in US dollars.'),
          service_fee: number('Always 0.'),
          total: number('The sum of charges and service_fee, in US dollars.'),
          credit: number('The remaining credit, in US dollars, after these charges.'),
        })
        .describe('The account now, independent of the period.'),
    }),
    answer: async ({ services, actor, query }) => {
      const { filter } = parseListQuery(query)
      const { entries, creditNanos, accruedNanos } = await services.billing.statement(actor, filter, entrySelect)
      const charges = usdToNumber(accruedNanos)
      const current = { charges, service_fee: 0, total: charges, credit: usdToNumber(creditNanos) }
      return { invoices: await mapInTurns(entries, statementLineRow), current }
    },
  }),
]
