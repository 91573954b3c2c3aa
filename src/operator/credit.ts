import { printUsd } from '../domain/money.ts'
import type { Operations } from '../services/operations.ts'
import { type Command, command, everyRow } from './command.ts'
import { readAmount, readSigned } from './options.ts'

const idempotencyKey = {
  meaning: 'a text of your choice: repeated with it, the command does nothing again',
}

export const creditCommands: Record<string, Command> = {
  'credit grant': command(
    {
      summary: 'Adds to what an account can spend.',
      options: {
        account: { required: true, meaning: 'its email address' },
        amount: { required: true, meaning: 'dollars, above 0' },
        reason: { meaning: 'for the history of the account' },
        'idempotency-key': idempotencyKey,
      },
    },
    ({ account, amount, reason, 'idempotency-key': idempotencyKey }) => {
      const amountNanos = readAmount('amount', amount)
      return async ({ accounts }) => {
        const granted = await accounts.grantCredit(account, { amountNanos, reason, idempotencyKey })
        return presented(amountNanos, granted)
      }
    },
  ),
  'credit adjust': command(
    {
      summary: 'Gives an account what it was charged wrongly, or takes what it was given wrongly.',
      options: {
        account: { required: true, meaning: 'its email address' },
        amount: {
          required: true,
          meaning: 'dollars, below 0 to take them; the account may have less than nothing then',
        },
        reason: { required: true, meaning: 'for the ledger and the history of the account' },
        'idempotency-key': idempotencyKey,
      },
    },
    ({ account, amount, reason, 'idempotency-key': idempotencyKey }) => {
      const amountNanos = readSigned('amount', amount)
      return async ({ accounts }) =>
        presented(amountNanos, await accounts.adjustCredit(account, { amountNanos, reason, idempotencyKey }))
    },
  ),
  'ledger list': command(
    {
      summary: "Prints an account's ledger from the beginning: what it was charged and given, and what it had then.",
      options: { account: { required: true, meaning: 'its email address' } },
    },
    ({ account }) =>
      operations =>
        listLedger(operations, account),
  ),
}

type Granted = Awaited<ReturnType<Operations['accounts']['grantCredit']>>

function presented(amountNanos: bigint, { email, beforeNanos, afterNanos, replayed }: Granted) {
  const [before, after] = [printUsd(beforeNanos), printUsd(afterNanos)]
  return { account: email, amount: printUsd(amountNanos), before, after, replayed }
}

async function* listLedger({ accounts }: Operations, email: string) {
  const { id: accountId } = await accounts.find(email)
  const page = (after: number, limit: number) => accounts.ledgerPage(accountId, after, limit)
  for await (const { amountNanos, balanceAfterNanos, rateNanos, ...entry } of everyRow(page)) {
    const [amount, balanceAfter] = [printUsd(amountNanos), printUsd(balanceAfterNanos)]
    yield { ...entry, amount, balanceAfter, ratePerHour: rateNanos === null ? null : printUsd(rateNanos) }
  }
}
