import type { Prisma } from '../../database/generated/client.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { type CreditStatus, creditStatusOf } from '../../domain/billing/balance.ts'
import { creditError } from '../../domain/billing/reserve.ts'
import { DomainError, invalidInput } from '../../domain/errors.ts'
import { authorize } from '../authorize.ts'
import { readBalance } from '../billing/balance.ts'
import type { DataDeps } from '../deps.ts'
import { asSelected, type ColumnSelect, type SelectedColumns } from '../selected.ts'

export type AccountSelect = ColumnSelect<'Account', 'id'>
export type SelectedAccount<Select> = SelectedColumns<'Account', 'id', Select>

export function accountServices({ database }: DataDeps) {
  return {
    /** The account that the key belongs to. */
    async viewer<Select extends AccountSelect>(actor: Actor, select: Select): Promise<SelectedAccount<Select>> {
      authorize(actor, 'accounts.viewer')
      return asSelected(await database.prisma.account.findUniqueOrThrow({ where: { id: actor.accountId }, select }))
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
      const { account } = database.prisma
      await account.createMany({ data: emails.map(email => ({ email })), skipDuplicates: true })
      const found = await account.findMany({ where: { email: { in: emails } }, select: { id: true, email: true } })
      const ids = new Map(found.map(({ id, email }) => [email, id]))
      return emails.flatMap(email => ids.get(email) ?? [])
    },
  }
}

/** Throws when the account has no credit left. */
export async function requireCredit(tx: Transaction, { accountId }: Actor, at: Date): Promise<void> {
  const error = creditError(creditStatusOf(await readBalance(tx, accountId, at)).creditNanos)
  if (error) throw error
}

/** An account by its email address, or by its id. */
export type AccountName = string | { id: number }

export async function findAccount(
  prisma: Prisma.TransactionClient,
  name: AccountName,
): Promise<{ id: number; email: string }> {
  const where = typeof name === 'string' ? { email: parseEmail(name) } : { id: name.id }
  const account = await prisma.account.findUnique({ where, select: { id: true, email: true } })
  if (account) return account
  const which = 'id' in where ? where.id : `with the email address ${where.email}`
  throw new DomainError('NOT_FOUND', `There is no account ${which}.`, { subject: null })
}

export function parseEmail(email: string): string {
  const address = email.trim().toLowerCase()
  if (/^[^\s@]+@[^\s@]+$/.test(address) && address.length <= 254 && address.isWellFormed()) return address
  const message = address.length <= 254 ? `"${address}" is not an email address.` : 'has more than 254 characters.'
  throw invalidInput([{ path: 'email', message }])
}
