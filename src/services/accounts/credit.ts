import { Prisma } from '../../database/generated/client.ts'
import { columnsOf, insertAll } from '../../database/rows.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import { standingOf } from '../../domain/billing/billing.ts'
import { DomainError, invalidInput } from '../../domain/errors.ts'
import { textProblem } from '../../domain/texts.ts'
import { type AccountBalance, lockBalance, readBalance } from '../billing/balance.ts'
import { chargeMeters } from '../billing/meters.ts'
import type { DataDeps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { findAccount } from './accounts.ts'

const { sql } = Prisma
const entryColumns = columnsOf(Prisma.LedgerEntryScalarFieldEnum)

/** No account has more, so that every amount is a number of dollars that can be written and read. */
const mostNanos = 999_999_999_000_000_000n

type Grant = { amountNanos: bigint; reason?: string | undefined; idempotencyKey?: string | undefined }
type Granted = { email: string; beforeNanos: bigint; afterNanos: bigint; replayed: boolean }
type Kind = 'top_up' | 'adjustment'

export function creditOperations({ database }: DataDeps) {
  return {
    /** Adds to what an account can spend. With an idempotency key once and for all, however often it is asked for. */
    async grantCredit(email: string, grant: Grant): Promise<Granted> {
      checkGrant(grant)
      return await write(email, 'top_up', grant)
    },

    /** Gives or takes what the ledger has wrong, and says why. Taking may leave less than nothing. */
    async adjustCredit(email: string, adjustment: Grant & { reason: string }): Promise<Granted> {
      checkAdjustment(adjustment)
      return await write(email, 'adjustment', adjustment)
    },
  }

  async function write(email: string, kind: Kind, grant: Grant): Promise<Granted> {
    return await transaction(database, async tx => {
      const account = await findAccount(tx, email)
      // Whoever grants to the account waits here for the others, and sees what they granted.
      const balance = await lockBalance(tx, account.id, tx.at)
      const earlier = await find(tx, account.id, kind, grant)
      if (earlier) return { email: account.email, ...earlier, replayed: true }
      // What is taken away now was there until now: GPUs that it paid for are charged first.
      if (grant.amountNanos < 0n) await chargeMeters(tx, balance, sql`true`)
      const current = await readBalance(tx, account.id, balance.at)
      return { email: account.email, ...(await grantTo(tx, current, grant, kind)), replayed: false }
    })
  }
}

/** Grants what was checked before, in a transaction of the caller's. */
export async function grantTo(tx: Transaction, balance: AccountBalance, grant: Grant, kind: Kind = 'top_up') {
  const { accountId, at: postedAt } = balance
  const { amountNanos, reason, idempotencyKey } = grant
  const sum = balance.postedNanos + amountNanos
  if (sum > mostNanos)
    throw invalidInput([{ path: 'amount', message: 'would give the account more than 999999999 $.' }])
  if (sum < -mostNanos)
    throw invalidInput([{ path: 'amount', message: 'would leave the account less than -999999999 $.' }])
  const entry = { accountId, kind, amountNanos, reason, idempotencyKey, postedAt }
  const [row] = await tx.rows(sql`${insertAll('ledger_entries', entryColumns, [entry])} RETURNING balance_after_nanos`)
  const afterNanos = row?.[0] as bigint
  await record(tx, balance, grant)
  return { beforeNanos: afterNanos - amountNanos, afterNanos }
}

export function checkGrant(grant: Grant): void {
  check(grant.amountNanos > 0n ? undefined : 'must be above 0.', grant)
}

function checkAdjustment(adjustment: Grant & { reason: string }): void {
  check(adjustment.amountNanos !== 0n ? undefined : 'must not be 0.', adjustment)
}

function check(amount: string | undefined, { reason, idempotencyKey }: Grant): void {
  const problems = [
    issueOf('amount', amount),
    issueOf('reason', reason === '' ? 'must not be empty.' : textProblem(reason ?? '', 256)),
    issueOf('idempotencyKey', idempotencyKey === '' ? 'must not be empty.' : textProblem(idempotencyKey ?? '', 255)),
  ]
  const issues = problems.filter(problem => problem !== undefined)
  if (issues.length > 0) throw invalidInput(issues)
}

function issueOf(path: string, message: string | undefined) {
  return message === undefined ? undefined : { path, message }
}

/** What became of the first grant or adjustment with this key. */
async function find(tx: Transaction, accountId: number, kind: Kind, { idempotencyKey, amountNanos }: Grant) {
  if (idempotencyKey === undefined) return undefined
  const [row] = await tx.rows(sql`
    SELECT amount_nanos, balance_after_nanos, kind FROM ledger_entries
    WHERE account_id = ${accountId} AND idempotency_key = ${idempotencyKey}`)
  if (!row) return undefined
  const [amount, afterNanos, earlier] = row as [bigint, bigint, Kind]
  if (amount === amountNanos && earlier === kind) return { beforeNanos: afterNanos - amount, afterNanos }
  throw new DomainError('IDEMPOTENCY_KEY_REUSED', 'This idempotency key was used for a grant of another amount.')
}

async function record(tx: Transaction, balance: AccountBalance, grant: Grant): Promise<void> {
  const { accountId, at } = balance
  const { creditNanos } = standingOf(balance)
  const { amountNanos, reason, idempotencyKey } = grant
  const before = { creditNanos: String(creditNanos) }
  const after = {
    creditNanos: String(creditNanos + amountNanos),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  }
  const event = { type: 'CREDIT_GRANTED' as const, accountId, before, after }
  await recordEvents(tx, [{ ...event, ...(reason && { reason }) }], at)
}
