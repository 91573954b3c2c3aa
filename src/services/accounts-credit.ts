import { Prisma } from '../database/generated/client.ts'
import { type Transaction, transaction } from '../database/transaction.ts'
import { DomainError, invalidInput } from '../domain/errors.ts'
import { textProblem } from '../domain/texts.ts'
import { findAccount } from './accounts.ts'
import type { DataDeps } from './deps.ts'
import { recordEvents } from './events.ts'

const { sql } = Prisma

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
        await tx.rows(sql`SELECT FROM accounts WHERE id = ${account.id} FOR NO KEY UPDATE`)
        const earlier = await find(tx, account.id, grant)
        if (earlier) return { email: account.email, ...earlier, replayed: true }
        return { email: account.email, ...(await grantTo(tx, account.id, grant, at)), replayed: false }
      })
    },
  }
}

/** Grants what was checked before, in a transaction of the caller's. */
export async function grantTo(tx: Transaction, accountId: number, grant: Grant, at: Date) {
  const afterNanos = await add(tx, accountId, grant.amountNanos)
  const beforeNanos = afterNanos - grant.amountNanos
  await record(tx, accountId, { beforeNanos, afterNanos, ...grant }, at)
  return { beforeNanos, afterNanos }
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

async function add(tx: Transaction, accountId: number, amountNanos: bigint): Promise<bigint> {
  const [row] = await tx.rows(sql`
    UPDATE accounts SET posted_nanos = posted_nanos + ${amountNanos}
    WHERE id = ${accountId} AND posted_nanos <= ${mostNanos - amountNanos} RETURNING posted_nanos`)
  if (row) return row[0] as bigint
  throw invalidInput([{ path: 'amount', message: 'would give the account more than 999999999 $.' }])
}

/** What became of the first grant with this key. It is never purged, and a unique index allows no second. */
async function find(tx: Transaction, accountId: number, { idempotencyKey, amountNanos }: Grant) {
  if (idempotencyKey === undefined) return undefined
  const [row] = await tx.rows(sql`
    SELECT before->>'creditNanos', after->>'creditNanos' FROM events
    WHERE type = 'CREDIT_GRANTED' AND account_id = ${accountId} AND after->>'idempotencyKey' = ${idempotencyKey}`)
  if (!row) return undefined
  const [beforeNanos, afterNanos] = row.map(nanos => BigInt(nanos as string)) as [bigint, bigint]
  if (afterNanos - beforeNanos === amountNanos) return { beforeNanos, afterNanos }
  throw new DomainError('IDEMPOTENCY_KEY_REUSED', 'This idempotency key was used for a grant of another amount.')
}

async function record(
  tx: Transaction,
  accountId: number,
  { beforeNanos, afterNanos, reason, idempotencyKey }: Grant & { beforeNanos: bigint; afterNanos: bigint },
  at: Date,
): Promise<void> {
  const before = { creditNanos: String(beforeNanos) }
  const after = { creditNanos: String(afterNanos), ...(idempotencyKey !== undefined && { idempotencyKey }) }
  const event = { type: 'CREDIT_GRANTED' as const, accountId, before, after }
  await recordEvents(tx, [{ ...event, ...(reason && { reason }) }], at)
}
