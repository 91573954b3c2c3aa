// Operator commands that create accounts and keys. Their events name the operator.

import { type Transaction, transaction } from '../../database/transaction.ts'
import { DomainError, invalidInput, renameIssuePaths } from '../../domain/errors.ts'
import { operatorActor } from '../../domain/events/actor.ts'
import { lockAccount } from '../billing/balance.ts'
import type { DataDeps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { type AccountName, findAccount, parseEmail } from './accounts.ts'
import { generateApiKey, type NewApiKey } from './api-keys/identity.ts'
import { apiKeyFactsOf } from './api-keys/key-changes.ts'
import { checkGrant, postCredit } from './credit.ts'

type NewAccount = { email: string; name?: string; creditNanos?: bigint; keyName?: string }

export function accountCreateOperations({ database }: DataDeps) {
  return {
    /**
     * Creates an account and a key with full access. An email address has one account, so a repeated call is refused
     * and does not grant credit again.
     */
    async create({ email, name = '', creditNanos = 0n, keyName = 'default' }: NewAccount) {
      const address = parseEmail(email)
      const grant = { amountNanos: creditNanos }
      if (creditNanos !== 0n) checkGrant(grant)
      const creating = transaction(database, async tx => {
        const { at } = tx
        const [account] = await tx.prisma(prisma =>
          prisma.account.createManyAndReturn({
            data: [{ email: address, name, createdAt: at }],
            skipDuplicates: true,
            select: { id: true },
          }),
        )
        if (!account) {
          const message = `An account with the email address ${address} already exists.`
          throw new DomainError('CONFLICT', message, { subject: null })
        }
        const { id } = account
        if (creditNanos !== 0n) await postCredit(tx, await lockAccount(tx, id, at), grant)
        const { key } = await insertApiKey(tx, id, { name: keyName, permissions: null }, at)
        return { account: { id, email: address, name, postedNanos: creditNanos, createdAt: at }, apiKey: key }
      })
      return await creating.catch((error: unknown) => Promise.reject(renameIssuePaths(error, { amount: 'credit' })))
    },

    async createApiKey(account: AccountName, newKey: NewApiKey) {
      return await transaction(database, async tx => {
        const { expiresAt } = newKey
        if (expiresAt && expiresAt <= tx.at) throw invalidInput([{ path: 'expires', message: 'is in the past.' }])
        const { id: accountId, email } = await tx.prisma(prisma => findAccount(prisma, account))
        const { id, key } = await insertApiKey(tx, accountId, newKey, tx.at)
        return { id, account: email, apiKey: key }
      })
    },
  }
}

async function insertApiKey(tx: Transaction, accountId: number, newKey: NewApiKey, at: Date) {
  const { row, key } = generateApiKey(newKey)
  const { name, expiresAt } = row
  const { permissions } = newKey
  const data = { ...row, accountId, createdAt: at }
  const { id } = await tx.prisma(prisma => prisma.apiKey.create({ data, select: { id: true } }))
  const after = apiKeyFactsOf(id, { name, permissions, expiresAt })
  await recordEvents(tx, [{ kind: 'API_KEY_CREATED', accountId, actor: operatorActor, after }], at)
  return { id, key }
}
