import { printUsd } from '../domain/money.ts'
import type { AccountName } from '../services/accounts/accounts.ts'
import type { Operations } from '../services/operations.ts'
import { accountOption, parseAccountOption } from './accounts/name.ts'
import { defineCommand, type OperatorCommand, readAllRows } from './command.ts'
import { parseAmountOption, parseSignedAmountOption } from './options.ts'

const idempotencyKey = {
  meaning: 'any text; repeating the command with the same text changes nothing',
}

export const creditCommands = {
  'credit grant': defineCommand(
    {
      summary: 'Adds credit to an account.',
      options: {
        account: { ...accountOption, required: true },
        amount: { required: true, meaning: 'US dollars, above 0' },
        reason: { meaning: "note for the account's history" },
        'idempotency-key': idempotencyKey,
      },
    },
    ({ account, amount, reason, 'idempotency-key': idempotencyKey }) => {
      const amountNanos = parseAmountOption('amount', amount)
      const name = parseAccountOption(account)
      return async ({ accounts }) => {
        const granted = await accounts.grantCredit(name, { amountNanos, reason, idempotencyKey })
        return presentChange(amountNanos, granted)
      }
    },
  ),
  'credit adjust': defineCommand(
    {
      summary: 'Corrects an account: returns a wrong charge, or takes back credit that was granted by mistake.',
      options: {
        account: { ...accountOption, required: true },
        amount: {
          required: true,
          meaning: 'US dollars; an amount below 0 takes credit away and may leave the account in debt',
        },
        reason: { required: true, meaning: "note for the ledger and the account's history" },
        'idempotency-key': idempotencyKey,
      },
    },
    ({ account, amount, reason, 'idempotency-key': idempotencyKey }) => {
      const amountNanos = parseSignedAmountOption('amount', amount)
      const name = parseAccountOption(account)
      return async ({ accounts }) =>
        presentChange(amountNanos, await accounts.adjustCredit(name, { amountNanos, reason, idempotencyKey }))
    },
  ),
  'ledger list': defineCommand(
    {
      summary: "Lists an account's ledger from the first entry: each charge or credit, and the balance after it.",
      columns: ['id', 'postedAt', 'kind', 'amount', 'balanceAfter', 'instanceId', 'volumeId', 'reason'],
      options: { account: { ...accountOption, required: true } },
    },
    ({ account }) => {
      const name = parseAccountOption(account)
      return operations => listLedger(operations, name)
    },
  ),
} satisfies Record<string, OperatorCommand>

type CreditChange = Awaited<ReturnType<Operations['accounts']['grantCredit']>>

function presentChange(amountNanos: bigint, { email, beforeNanos, afterNanos, replayed }: CreditChange) {
  const [before, after] = [printUsd(beforeNanos), printUsd(afterNanos)]
  return { account: email, amount: printUsd(amountNanos), before, after, replayed }
}

async function* listLedger({ accounts }: Operations, name: AccountName) {
  const { id: accountId } = await accounts.find(name)
  const page = (after: number, limit: number) => accounts.ledgerPage(accountId, after, limit)
  for await (const { amountNanos, balanceAfterNanos, rateNanos, ...entry } of readAllRows(page)) {
    const [amount, balanceAfter] = [printUsd(amountNanos), printUsd(balanceAfterNanos)]
    yield { ...entry, amount, balanceAfter, costPerHour: rateNanos === null ? null : printUsd(rateNanos) }
  }
}
