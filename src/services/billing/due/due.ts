// Finds accounts with due billing work and performs it.

import { Prisma } from '../../../database/generated/client.ts'
import { int4, timestamptz } from '../../../database/row-types.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import {
  type AccountFacts,
  changesNotes,
  type DebtRules,
  decideNotices,
  nextBillingAction,
  nextDueAt,
} from '../../../domain/billing/due.ts'
import { createBatcher } from '../../batches.ts'
import { recordEvents } from '../../events/events.ts'
import { type MarketDeps, updateMarkets } from '../../instances/bulk/update-markets.ts'
import { isFreeSql, leaseEndSql } from '../../reconciliation/leases.ts'
import { type AccountBalance, lockAccount, readBalance } from '../balance.ts'
import { findNextLimitCheck } from '../limits/usage.ts'
import { chooseTargets, lockTargets, performAction } from './actions.ts'
import { loadAccountFacts } from './facts.ts'
import { buildNoticeEvents } from './notices.ts'
import { type AccountLease, passQuietly } from './quiet.ts'

const { sql } = Prisma

type LoadedAccount = { account: AccountBalance; facts: AccountFacts }

export function dueBillingServices(deps: MarketDeps, rules: DebtRules) {
  const { database } = deps
  return {
    /**
     * Leases accounts that are due or have an uncharged meter end. Skips accounts that another gateway has leased or
     * another transaction has locked.
     */
    async leaseDue(limit: number): Promise<AccountLease[]> {
      const { nowSql } = database
      const free = isFreeSql(sql`billing_leased_until`, nowSql)
      const statement = sql`
        WITH due AS (
          SELECT id FROM accounts WHERE billing_due_at <= ${nowSql} AND ${free}
          ORDER BY billing_due_at LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED
        ), ended AS (
          SELECT id FROM accounts
          WHERE id = ANY(ARRAY(SELECT DISTINCT account_id FROM meter_ends WHERE at <= ${nowSql})) AND ${free}
          LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED
        )
        UPDATE accounts SET billing_leased_until = ${leaseEndSql(nowSql)}
        WHERE id = ANY(ARRAY(SELECT id FROM due UNION SELECT id FROM ended LIMIT ${limit})) RETURNING id AS account_id, billing_leased_until AS leased_until`
      return await database.query(statement, { accountId: int4, leasedUntil: timestamptz })
    },

    /** Does what is due for an account, and schedules its next pass. Accounts for which nothing is due share a transaction. */
    perform: createBatcher<AccountLease, void>(
      {
        many: leases => passQuietly(database, rules, leases),
        one: performAlone,
        accountOf: ({ accountId }) => accountId,
      },
      deps.log,
    ),
  }

  /**
   * Records due notices, performs the first due action and schedules the next pass, in one transaction. Then updates
   * the markets, in other transactions. The action's targets are chosen and locked before the account, so the action
   * is decided again under the account's lock.
   */
  async function performAlone({ accountId, leasedUntil }: AccountLease): Promise<void> {
    const seen = await readBalance(database, accountId)
    const chosen = await chooseTargets(database, seen, nextBillingAction(await loadAccountFacts(database, seen), rules))
    const machines = await transaction(database, async tx => {
      const targets = await lockTargets(tx, accountId, chosen)
      const { at } = tx
      const account = await lockAccount(tx, accountId, at)
      if (!(await hasLease(tx, { accountId, leasedUntil }))) return []
      // Notices precede charges, since the end of credit is calculated from meters that are not charged yet.
      const facts = await recordNotices(tx, account, at)
      const action = nextBillingAction(facts, rules)
      const moved = await performAction(tx, account, action, targets, at)
      await releaseAccount(tx, action === null ? { account, facts } : await reloadAccount(tx, accountId, at), at)
      return moved
    })
    await updateMarkets(deps, machines)
  }

  /** Records the due notices of an account as events, and stores which notices the account got. */
  async function recordNotices(tx: Transaction, account: AccountBalance, at: Date): Promise<AccountFacts> {
    const facts = await loadAccountFacts(tx, account)
    const { notes, notices } = decideNotices(facts, rules)
    await recordEvents(tx, await buildNoticeEvents(tx, account, notices), at)
    if (changesNotes(facts, notes))
      await tx.execute(sql`
        UPDATE accounts SET credit_ended_at = ${notes.creditEndedAt}, low_credit_hours = ${notes.lowCreditHours},
          debt_since = ${notes.debtSince}, debt_warned_at = ${notes.debtWarnedAt}
        WHERE id = ${account.accountId}`)
    return { ...facts, ...notes }
  }

  async function reloadAccount(tx: Transaction, accountId: number, at: Date): Promise<LoadedAccount> {
    const account = await readBalance(tx, accountId, at)
    return { account, facts: await recordNotices(tx, account, at) }
  }

  /** Ends the lease and stores when the account is due next. */
  async function releaseAccount(tx: Transaction, { account, facts }: LoadedAccount, at: Date): Promise<void> {
    const isNothingDue = nextBillingAction(facts, rules) === null
    const limitsAt = account.isLimited && isNothingDue ? await findNextLimitCheck(tx, account) : null
    const next = nextDueAt(facts, rules, limitsAt)
    // `account.at` is later than `at` if another transaction charged the account after this one began.
    const dueAt = next !== null && next <= account.at ? at : next
    await tx.execute(sql`
      UPDATE accounts SET billing_leased_until = NULL, billing_due_at = ${dueAt} WHERE id = ${account.accountId}`)
  }
}

/** Whether this lease is still valid. Another gateway may have leased the account after it expired. */
async function hasLease(tx: Transaction, { accountId, leasedUntil }: AccountLease): Promise<boolean> {
  const leased = await tx.execute(sql`
    SELECT FROM accounts WHERE id = ${accountId} AND billing_leased_until = ${leasedUntil}`)
  return leased === 1
}
