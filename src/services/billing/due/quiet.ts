// Passes over accounts for which nothing is due, because a rental or another change has only moved the instant of the next pass.

import type { Database } from '../../../database/client.ts'
import { Prisma } from '../../../database/generated/client.ts'
import { int4 } from '../../../database/row-types.ts'
import { readTogether } from '../../../database/together.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { type AccountFacts, type DebtRules, isQuiet, nextDueAt } from '../../../domain/billing/due.ts'
import { balanceRead, toBalance } from '../balance.ts'
import { factsRead, toAccountFacts } from './facts.ts'

const { sql } = Prisma

export type AccountLease = { accountId: number; leasedUntil: Date }

/** Ends the leases of such accounts in one transaction. Returns them; each of the others needs a transaction of its own. */
export async function passQuietly(
  database: Database,
  rules: DebtRules,
  leases: readonly AccountLease[],
): Promise<Map<AccountLease, void>> {
  return await transaction(database, async tx => {
    const leased = await lockLeased(tx, leases)
    if (leased.size === 0) return new Map()
    const ids = [...leased.keys()]
    const reads = {
      balances: balanceRead(ids, sql`${tx.at}::timestamptz`),
      facts: factsRead(ids, tx.at, { isInDebt: false }),
    }
    const { balances, facts } = await readTogether(tx, reads)
    const rows = new Map(facts.map(row => [row.accountId, row]))
    const quiet = balances.map(toBalance).flatMap(account => {
      const row = rows.get(account.accountId)
      const known = row && toAccountFacts(row, account)
      // An account that another transaction has charged since this one began is later than the facts.
      const isCurrent = known?.at.getTime() === tx.at.getTime()
      return known && isCurrent && !account.isLimited && isQuiet(known, rules) ? [known] : []
    })
    const of = <Value>(value: (one: AccountFacts) => Value) => quiet.map(value)
    // `ANY` has the accounts looked up by their ids. With the join alone, PostgreSQL may read all accounts.
    if (quiet.length > 0)
      await tx.execute(sql`
        UPDATE accounts SET billing_leased_until = NULL, billing_due_at = next.due_at
        FROM unnest(${of(({ accountId }) => accountId)}::int[], ${of(one => nextDueAt(one, rules))}::timestamptz[]) AS next(id, due_at)
        WHERE accounts.id = ANY(${of(({ accountId }) => accountId)}::int[]) AND accounts.id = next.id`)
    return new Map(of(({ accountId }) => [leased.get(accountId) as AccountLease, undefined]))
  })
}

/** Locks the accounts whose leases are valid, unless another transaction has locked them. */
async function lockLeased(tx: Transaction, leases: readonly AccountLease[]): Promise<Map<number, AccountLease>> {
  const statement = sql`
    SELECT a.id FROM unnest(${leases.map(({ accountId }) => accountId)}::int[], ${leases.map(one => one.leasedUntil)}::timestamptz[])
      AS lease(id, leased_until) JOIN accounts a ON a.id = lease.id AND a.billing_leased_until = lease.leased_until
    ORDER BY a.id FOR NO KEY UPDATE OF a SKIP LOCKED`
  const locked = new Set((await tx.query(statement, { id: int4 })).map(({ id }) => id))
  return new Map(leases.flatMap(lease => (locked.has(lease.accountId) ? [[lease.accountId, lease]] : [])))
}
