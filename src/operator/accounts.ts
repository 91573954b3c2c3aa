import { printUsd } from '../domain/money.ts'
import { type Command, command, everyRow } from './command.ts'
import { readAmount } from './options.ts'

export const accountCommands: Record<string, Command> = {
  'account create': command(
    {
      summary: 'Makes an account, and prints a key of it with full access, once.',
      options: {
        email: { required: true, meaning: 'whose it is' },
        credit: { meaning: 'dollars to begin with; 0 when absent' },
        name: { meaning: 'for people' },
      },
    },
    ({ email, credit = '0', name = '' }) => {
      const creditNanos = readAmount('credit', credit)
      return async ({ accounts }) => {
        const { account, apiKey } = await accounts.create({ email, name, creditNanos })
        return { id: account.id, email: account.email, credit: printUsd(account.postedNanos), apiKey }
      }
    },
  ),
  'account list': command(
    {
      summary:
        'Prints all accounts: what each has left now, what it costs per hour, how many keys work, how many instances it has.',
      options: {},
    },
    () => operations => listAccounts(operations),
  ),
}

async function* listAccounts({ accounts }: Parameters<ReturnType<Command['read']>>[0]) {
  for await (const { creditNanos, burnNanos, createdAt, keys, instances, ...account } of everyRow(accounts.page)) {
    const [credit, burnRate] = [printUsd(creditNanos), printUsd(burnNanos)]
    yield { ...account, credit, burnRate, createdAt, keys, instances }
  }
}
