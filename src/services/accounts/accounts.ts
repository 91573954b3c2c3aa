import { Prisma } from '../../database/generated/client.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { type CreditStatus, creditStatusOf } from '../../domain/billing/balance.ts'
import { creditError } from '../../domain/billing/reserve.ts'
import { DomainError, invalidInput } from '../../domain/errors.ts'
import { authorize } from '../authorize.ts'
import { readBalance } from '../billing/balance.ts'
import type { DataDeps } from '../deps.ts'

export function accountServices({ database }: DataDeps) {
  return {
    /** The account that the key belongs to. */
    async viewer<Query extends Omit<Prisma.AccountFindUniqueOrThrowArgs, 'where'>>(actor: Actor, query: Query) {
      authorize(actor, 'accounts.viewer')
      return await database.prisma.account.findUniqueOrThrow({ ...query, where: { id: actor.accountId } })
    },

    /** The account's current credit status, and the time at which it was read. */
    async creditStatus(actor: Actor): Promise<CreditStatus & { at: Date }> {
      authorize(actor, 'accounts.viewer')
      const balance = await readBalance(database, actor.accountId)
      return { ...creditStatusOf(balance), at: balance.at }
    },
  }
}

/** Operator commands. They have no actor: access to the database is the permission. */
export function accountOperations({ database }: DataDeps) {
  return {
    /** Returns the account ids of these hosts, in the given order. Creates missing accounts, without an API key. */
    async saveHosts(emails: string[]): Promise<number[]> {
      await database.prisma.account.createMany({ data: emails.map(email => ({ email })), skipDuplicates: true })
      const rows = await database.rows(Prisma.sql`
        SELECT id FROM unnest(${emails}::text[]) WITH ORDINALITY AS wanted(email, place)
        JOIN accounts USING (email) ORDER BY place`)
      return rows.map(([id]) => id as number)
    },
  }
}

/** Throws when the account has no credit left. */
export async function requireCredit(tx: Transaction, { accountId }: Actor, at: Date): Promise<void> {
  const error = creditError(creditStatusOf(await readBalance(tx, accountId, at)).creditNanos)
  if (error) throw error
}

export async function findAccount(
  tx: Pick<Transaction, 'rows'>,
  email: string,
): Promise<{ id: number; email: string }> {
  const address = parseEmail(email)
  const [row] = await tx.rows(Prisma.sql`SELECT id FROM accounts WHERE email = ${address}`)
  if (!row)
    throw new DomainError('NOT_FOUND', `There is no account with the email address ${address}.`, { subject: null })
  return { id: row[0] as number, email: address }
}

export function parseEmail(email: string): string {
  const address = email.trim().toLowerCase()
  if (/^[^\s@]+@[^\s@]+$/.test(address) && address.length <= 254 && address.isWellFormed()) return address
  const message = address.length <= 254 ? `"${address}" is not an email address.` : 'has more than 254 characters.'
  throw invalidInput([{ path: 'email', message }])
}
