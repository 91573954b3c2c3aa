import { Prisma } from '../../database/generated/client.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import { creditStatusOf } from '../../domain/billing/balance.ts'
import { DomainError, invalidInput } from '../../domain/errors.ts'
import { operatorActor } from '../../domain/events/actor.ts'
import { textProblem } from '../../domain/texts.ts'
import { type AccountBalance, lockAccount, readBalance } from '../billing/balance.ts'
import { chargeMeters } from '../billing/meters.ts'
import type { DataDeps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { type AccountName, findAccount } from './accounts.ts'

const { sql } = Prisma

/** No balance is further than this from 0, so that every amount can be printed and parsed in dollars. */
const maxCreditNanos = 999_999_999_000_000_000n

type CreditGrant = { amountNanos: bigint; reason?: string | undefined; idempotencyKey?: string | undefined }
type CreditGrantResult = { email: string; beforeNanos: bigint; afterNanos: bigint; replayed: boolean }
type CreditEntryKind = 'top_up' | 'adjustment'

export function creditOperations({ database }: DataDeps) {
  return {
    /** Adds credit to an account. With an idempotency key, repeated calls add the credit once. */
    async grantCredit(name: AccountName, grant: CreditGrant): Promise<CreditGrantResult> {
      checkGrant(grant)
      return await postOnce(name, 'top_up', grant)
    },

    /** Corrects the ledger: adds or deducts credit, with a reason. The balance may fall below 0. */
    async adjustCredit(name: AccountName, adjustment: CreditGrant & { reason: string }): Promise<CreditGrantResult> {
      checkAdjustment(adjustment)
      return await postOnce(name, 'adjustment', adjustment)
    },
  }

  async function postOnce(name: AccountName, kind: CreditEntryKind, grant: CreditGrant): Promise<CreditGrantResult> {
    return await transaction(database, async tx => {
      const account = await tx.prisma(prisma => findAccount(prisma, name))
      // Serializes grants to the account, so that `findEarlierGrant` sees earlier grants.
      const balance = await lockAccount(tx, account.id, tx.at)
      const earlier = await findEarlierGrant(tx, account.id, kind, grant)
      if (earlier) return { email: account.email, ...earlier, replayed: true }
      // The deducted credit was available until now, so all meters are charged up to now first.
      if (grant.amountNanos < 0n) await chargeMeters(tx, balance, sql`m.account_id = ${balance.accountId}`)
      const current = await readBalance(tx, account.id, balance.at)
      return { email: account.email, ...(await postCredit(tx, current, grant, kind)), replayed: false }
    })
  }
}

/** Posts a checked grant or adjustment in the caller's transaction. */
export async function postCredit(
  tx: Transaction,
  balance: AccountBalance,
  grant: CreditGrant,
  kind: CreditEntryKind = 'top_up',
) {
  const { accountId, at: postedAt } = balance
  const { amountNanos, reason, idempotencyKey } = grant
  const sum = balance.postedNanos + amountNanos
  if (sum > maxCreditNanos)
    throw invalidInput([{ path: 'amount', message: 'would give the account more than $999999999.' }])
  if (sum < -maxCreditNanos)
    throw invalidInput([{ path: 'amount', message: 'would leave the account less than -$999999999.' }])
  const data = {
    ...{ accountId, kind, amountNanos, postedAt },
    ...{ note: reason ?? null, idempotencyKey: idempotencyKey ?? null },
  }
  const { balanceAfterNanos: afterNanos } = await tx.prisma(prisma =>
    prisma.ledgerEntry.create({ data, select: { balanceAfterNanos: true } }),
  )
  await recordCreditEvent(tx, balance, grant)
  return { beforeNanos: afterNanos - amountNanos, afterNanos }
}

export function checkGrant(grant: CreditGrant): void {
  checkEntry(grant.amountNanos > 0n ? undefined : 'must be above 0.', grant)
}

function checkAdjustment(adjustment: CreditGrant & { reason: string }): void {
  checkEntry(adjustment.amountNanos !== 0n ? undefined : 'must not be 0.', adjustment)
}

function checkEntry(amount: string | undefined, { reason, idempotencyKey }: CreditGrant): void {
  const candidates = [
    issueOf('amount', amount),
    issueOf('reason', reason === '' ? 'must not be empty.' : textProblem(reason ?? '', 256)),
    issueOf('idempotencyKey', idempotencyKey === '' ? 'must not be empty.' : textProblem(idempotencyKey ?? '', 255)),
  ]
  const issues = candidates.filter(issue => issue !== undefined)
  if (issues.length > 0) throw invalidInput(issues)
}

function issueOf(path: string, message: string | undefined) {
  return message === undefined ? undefined : { path, message }
}

/** The result of the first grant or adjustment with this idempotency key. */
async function findEarlierGrant(
  tx: Transaction,
  accountId: number,
  kind: CreditEntryKind,
  { idempotencyKey, amountNanos }: CreditGrant,
) {
  if (idempotencyKey === undefined) return undefined
  const earlier = await tx.prisma(prisma =>
    prisma.ledgerEntry.findFirst({
      where: { accountId, idempotencyKey },
      select: { amountNanos: true, balanceAfterNanos: true, kind: true },
    }),
  )
  if (!earlier) return undefined
  const afterNanos = earlier.balanceAfterNanos
  if (earlier.amountNanos === amountNanos && earlier.kind === kind) {
    return { beforeNanos: afterNanos - amountNanos, afterNanos }
  }
  throw new DomainError(
    'IDEMPOTENCY_KEY_REUSED',
    'This idempotency key was used for a grant or adjustment of another amount or kind. Send a new key.',
  )
}

async function recordCreditEvent(tx: Transaction, balance: AccountBalance, grant: CreditGrant): Promise<void> {
  const { accountId, at } = balance
  const { creditNanos } = creditStatusOf(balance)
  const { amountNanos, reason, idempotencyKey } = grant
  const before = { creditNanos: String(creditNanos) }
  const after = {
    creditNanos: String(creditNanos + amountNanos),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  }
  const event = { kind: 'CREDIT_GRANTED' as const, accountId, actor: operatorActor, before, after }
  await recordEvents(tx, [{ ...event, ...(reason && { note: reason }) }], at)
}
