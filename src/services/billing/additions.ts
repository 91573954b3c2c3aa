// Checks what a transaction has written for accounts.

import { Prisma } from '../../database/generated/client.ts'
import { readTogether } from '../../database/together.ts'
import type { Transaction } from '../../database/transaction.ts'
import {
  type AdmissionRules,
  admissionErrors,
  type Holdings,
  subtractHoldings,
  sumHoldings,
} from '../../domain/billing/admission.ts'
import { creditStatusOf } from '../../domain/billing/balance.ts'
import type { DomainError } from '../../domain/errors.ts'
import { admissionsRead, loadAdmissionFacts, toAdmissionFacts } from './admission.ts'
import { type AccountBalance, balanceRead, lockAccounts, toBalance } from './balance.ts'

const { sql } = Prisma

/** What a transaction adds to an account. */
type Addition = { accountId: number; added: Holdings }

/**
 * The errors of accounts that may not have what this transaction has written for them, with its meters: they have locked the
 * accounts. Also ends what the credit or a limit no longer covers, as `lockAccounts` does. Returns the accounts as they are
 * then.
 */
export async function checkWrittenAdditions(
  tx: Transaction,
  rules: AdmissionRules,
  additions: readonly Addition[],
): Promise<{ accounts: AccountBalance[]; errors: Map<number, DomainError> }> {
  const ids = [...new Set(additions.map(({ accountId }) => accountId))]
  const reads = { balances: balanceRead(ids, sql`${tx.at}::timestamptz`), admissions: admissionsRead(ids) }
  const { balances, admissions } = await readTogether(tx, reads)
  const unlocked = balances.map(toBalance)
  const ending = unlocked.filter(account => account.isLimited || creditStatusOf(account).hasEnded)
  const ended = await lockAccounts(tx, idsOf(ending), tx.at)
  const rows = new Map(admissions.map(row => [row.accountId, row]))
  const errors = new Map<number, DomainError>()
  const accounts = unlocked.map(account => ended.find(({ accountId }) => accountId === account.accountId) ?? account)
  for (const account of accounts) {
    const row = rows.get(account.accountId)
    if (!row) throw new Error(`The account ${account.accountId} has no row.`)
    // Instances that `lockAccounts` has marked to stop no longer count.
    const admission = ended.includes(account)
      ? await loadAdmissionFacts(tx, account, rules)
      : toAdmissionFacts(row, account, rules)
    const own = additions.filter(({ accountId }) => accountId === account.accountId)
    const added = sumHoldings(own.map(one => one.added))
    const [error] = admissionErrors({ ...admission, held: subtractHoldings(admission.held, added) }, added, rules)
    if (error) errors.set(account.accountId, error)
  }
  return { accounts, errors }
}

function idsOf(accounts: readonly AccountBalance[]): number[] {
  return accounts.map(({ accountId }) => accountId)
}
