import { Prisma } from '../database/generated/client.ts'
import { columnsOf, insertAll } from '../database/rows.ts'
import { type Transaction, transaction } from '../database/transaction.ts'
import { standingOf } from '../domain/billing.ts'
import { DomainError, invalidInput } from '../domain/errors.ts'
import { textProblem } from '../domain/texts.ts'
import { findAccount } from './accounts.ts'
import { type AccountBalance, lockBalance } from './billing-meters.ts'
import type { DataDeps } from './deps.ts'
import { recordEvents } from './events.ts'

const { sql } = Prisma
const entryColumns = columnsOf(Prisma.LedgerEntryScalarFieldEnum)

/** No account has more, so that every amount is a number of dollars that can be written and read. */
const mostNanos = 999_999_999_000_000_000n

type Grant = { amountNanos: bigint; reason?: string | undefined; idempotencyKey?: string | undefined }
type Granted = { email: string; beforeNanos: bigint; afterNanos: bigint; replayed: boolean }

export function creditOperations({ database, now }: DataDeps) {
  return {
    /** Adds to what an account can spend. With an idempotency key once and for all, however often it is asked for. */
    async grantCredit(email: string, grant: Grant): Promise<Granted> {
      checkGrant(grant)
      const at = now()
      return await transaction(database.pool, async tx => {
        const account = await findAccount(tx, email)
        // Whoever grants to the account waits here for the others, and sees what they granted.
        const balance = await lockBalance(tx, account.id, at)
        const earlier = await find(tx, account.id, grant)
        if (earlier) return { email: account.email, ...earlier, replayed: true }
        return { email: account.email, ...(await grantTo(tx, balance, grant)), replayed: false }
      })
    },
  }
}

/** Grants what was checked before, in a transaction of the caller's. */
export async function grantTo(tx: Transaction, balance: AccountBalance, grant: Grant) {
  const { accountId, at: postedAt } = balance
  const { amountNanos, reason, idempotencyKey } = grant
  if (balance.postedNanos + amountNanos > mostNanos)
    throw invalidInput([{ path: 'amount', message: 'would give the account more than 999999999 $.' }])
  const entry = { accountId, kind: 'top_up', amountNanos, reason, idempotencyKey, postedAt }
  const [row] = await tx.rows(sql`${insertAll('ledger_entries', entryColumns, [entry])} RETURNING balance_after_nanos`)
  const afterNanos = row?.[0] as bigint
  await record(tx, balance, grant)
  return { beforeNanos: afterNanos - amountNanos, afterNanos }
}

export function checkGrant({ amountNanos, reason = '', idempotencyKey }: Grant): void {
  const problems = [
    amountNanos > 0n ? undefined : { path: 'amount', message: 'must be above 0.' },
    issueOf('reason', textProblem(reason, 256)),
    issueOf('idempotencyKey', idempotencyKey === '' ? 'must not be empty.' : textProblem(idempotencyKey ?? '', 255)),
  ]
  const issues = problems.filter(problem => problem !== undefined)
  if (issues.length > 0) throw invalidInput(issues)
}

function issueOf(path: string, message: string | undefined) {
  return message === undefined ? undefined : { path, message }
}

/** What became of the first grant with this key. */
async function find(tx: Transaction, accountId: number, { idempotencyKey, amountNanos }: Grant) {
  if (idempotencyKey === undefined) return undefined
  const [row] = await tx.rows(sql`
    SELECT amount_nanos, balance_after_nanos FROM ledger_entries
    WHERE account_id = ${accountId} AND idempotency_key = ${idempotencyKey}`)
  if (!row) return undefined
  const [amount, afterNanos] = row as [bigint, bigint]
  if (amount === amountNanos) return { beforeNanos: afterNanos - amount, afterNanos }
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
