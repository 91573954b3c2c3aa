import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { pageSelectionOf } from '../selection.ts'
import { LedgerEntry, LedgerFilter, parseLedgerFilter } from './ledger.ts'

// `_account` is always the caller's own: no caller can load another.
builder.prismaObjectField('Account', 'ledger', t =>
  t.connection(
    {
      type: LedgerEntry,
      nullable: true,
      description:
        'Credits and charges of the account, newest first. Their sum is the posted balance; costs since the last charges are only in `credit`.',
      requires: 'billing.ledger',
      complexity: pageComplexity,
      args: { filter: t.arg({ type: LedgerFilter, description: 'Which entries to return. All entries if absent.' }) },
      resolve: async (_account, { filter: given, ...page }, context, info) => {
        const { services, actor } = context
        const filter = parseLedgerFilter(given)
        const result = await services.billing.ledger(actor, filter, page, pageSelectionOf(context, info))
        return { filter, ...connectionOf(result) }
      },
    },
    {
      name: 'LedgerConnection',
      description: 'A page of ledger entries, newest first.',
      fields: t => ({
        totalCount: t.int({
          description: 'Number of matching entries on all pages. Computed only if selected.',
          resolve: ({ filter }, _args, { services, actor }) => services.billing.countLedger(actor, filter),
        }),
      }),
    },
    { name: 'LedgerEdge', description: 'A ledger entry with its cursor.' },
  ),
)
