import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { permissionSentence } from '../permission.ts'
import { LedgerEntry, LedgerFilter, parseLedgerFilter } from './ledger.ts'

// Nobody is given another account than his own.
builder.prismaObjectField('Account', 'ledger', t =>
  t.connection(
    {
      type: LedgerEntry,
      description: `What was granted and charged, the newest first. The sum of it all is what was posted; what runs since is in \`credit\`. ${permissionSentence('billing.ledger')}`,
      complexity: pageComplexity,
      args: { filter: t.arg({ type: LedgerFilter, description: 'Which entries are wanted. All, when absent.' }) },
      resolve: async (_account, { filter: given, ...page }, { services, actor }) => {
        const filter = parseLedgerFilter(given)
        return { filter, ...connectionOf(await services.billing.ledger(actor, filter, page)) }
      },
    },
    {
      name: 'LedgerConnection',
      description: 'A page of the ledger.',
      fields: t => ({
        totalCount: t.int({
          description: 'How many entries match, on all pages. It is counted only when asked for.',
          resolve: ({ filter }, _args, { services, actor }) => services.billing.countLedger(actor, filter),
        }),
      }),
    },
    { name: 'LedgerEdge', description: 'An entry, and where it stands in the ledger.' },
  ),
)
