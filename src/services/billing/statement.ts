import { Prisma } from '../../database/generated/client.ts'
import { snapshot } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { creditStatusOf } from '../../domain/billing/balance.ts'
import { checkLedgerFilter, type LedgerFilter } from '../../domain/billing/ledger.ts'
import { maxStatementEntries, type Statement, statementTooLong } from '../../domain/billing/statement.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { readBalance } from './balance.ts'
import { findEntries, type LedgerEntrySelect, ledgerFilterSql, type SelectedEntry } from './ledger.ts'

export function statementServices({ database }: DataDeps) {
  return {
    /** All entries of a period at once, for clients that do not read pages. Refuses a period with too many entries. */
    async statement<const Select extends LedgerEntrySelect>(
      actor: Actor,
      filter: LedgerFilter,
      select: Select,
    ): Promise<Statement<SelectedEntry<Select>>> {
      authorize(actor, 'billing.ledger')
      checkLedgerFilter(filter)
      return await snapshot(database, async tx => {
        const balance = await readBalance(tx, actor.accountId, tx.at)
        const { creditNanos } = creditStatusOf(balance)
        const conditions = ledgerFilterSql(actor, filter)
        const rows = { conditions, order: Prisma.sql`e.id`, limit: maxStatementEntries + 1 }
        const entries = await findEntries(tx, rows, select)
        if (entries.length > maxStatementEntries) throw statementTooLong()
        return { entries, creditNanos, accruedNanos: balance.postedNanos - creditNanos }
      })
    },
  }
}
