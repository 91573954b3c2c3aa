import { printUsd } from '../domain/money.ts'
import type { Operations } from '../services/operations.ts'
import { type Command, defineCommand, readAllRows } from './command.ts'
import { parseAmountOption, parseSignedAmountOption } from './options.ts'

const idempotencyKey = {
  meaning: 'a text of your choice: repeated with it, the command does nothing again',
}

export const creditCommands: Record<string, Command> = {
  'credit grant': defineCommand(
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
      const amountNanos = parseAmountOption('amount', amount)
      return async ({ accounts }) => {
        const granted = await accounts.grantCredit(account, { amountNanos, reason, idempotencyKey })
        return presentChange(amountNanos, granted)
      }
    },
  ),
  'credit adjust': defineCommand(
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
      const amountNanos = parseSignedAmountOption('amount', amount)
      return async ({ accounts }) =>
        presentChange(amountNanos, await accounts.adjustCredit(account, { amountNanos, reason, idempotencyKey }))
    },
  ),
  'ledger list': defineCommand(
    {
      summary: "Prints an account's ledger from the beginning: what it was charged and given, and what it had then.",
      options: { account: { required: true, meaning: 'its email address' } },
    },
    ({ account }) =>
      operations =>
        listLedger(operations, account),
  ),
}

type CreditChange = Awaited<ReturnType<Operations['accounts']['grantCredit']>>

function presentChange(amountNanos: bigint, { email, beforeNanos, afterNanos, replayed }: CreditChange) {
  const [before, after] = [printUsd(beforeNanos), printUsd(afterNanos)]
  return { account: email, amount: printUsd(amountNanos), before, after, replayed }
}

async function* listLedger({ accounts }: Operations, email: string) {
  const { id: accountId } = await accounts.find(email)
  const page = (after: number, limit: number) => accounts.ledgerPage(accountId, after, limit)
  for await (const { amountNanos, balanceAfterNanos, rateNanos, ...entry } of readAllRows(page)) {
    const [amount, balanceAfter] = [printUsd(amountNanos), printUsd(balanceAfterNanos)]
    yield { ...entry, amount, balanceAfter, ratePerHour: rateNanos === null ? null : printUsd(rateNanos) }
  }
}
