import { printUsd } from '../domain/money.ts'
import { type Command, command } from './command.ts'
import { readAmount } from './options.ts'

export const creditCommands: Record<string, Command> = {
  'credit grant': command(
    {
      summary: 'Adds to what an account can spend.',
      options: {
        account: { required: true, meaning: 'its email address' },
        amount: { required: true, meaning: 'dollars, above 0' },
        reason: { meaning: 'for the history of the account' },
        'idempotency-key': {
          meaning: 'a text of your choice: repeated with it, the command grants nothing again',
        },
      },
    },
    ({ account, amount, reason, 'idempotency-key': idempotencyKey }) => {
      const amountNanos = readAmount('amount', amount)
      return async ({ accounts }) => {
        const granted = await accounts.grantCredit(account, { amountNanos, reason, idempotencyKey })
        const { email, beforeNanos, afterNanos, replayed } = granted
        const [before, after] = [printUsd(beforeNanos), printUsd(afterNanos)]
        return { account: email, amount: printUsd(amountNanos), before, after, replayed }
      }
    },
  ),
}
