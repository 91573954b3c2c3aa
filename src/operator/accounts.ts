import { printUsd } from '../domain/money.ts'
import { type Command, defineCommand, readAllRows } from './command.ts'
import { parseAmountOption, parseQuotaOption } from './options.ts'

export const accountCommands: Record<string, Command> = {
  'account create': defineCommand(
    {
      summary: 'Makes an account, and prints a key of it with full access, once.',
      options: {
        email: { required: true, meaning: 'whose it is' },
        credit: { meaning: 'dollars to begin with; 0 when absent' },
        name: { meaning: 'for people' },
      },
    },
    ({ email, credit = '0', name = '' }) => {
      const creditNanos = parseAmountOption('credit', credit)
      return async ({ accounts }) => {
        const { account, apiKey } = await accounts.create({ email, name, creditNanos })
        return { id: account.id, email: account.email, credit: printUsd(account.postedNanos), apiKey }
      }
    },
  ),
  'account list': defineCommand(
    {
      summary:
        'Prints all accounts: what each has left now, what it costs per hour, how many keys work, how many instances it has, and the numbers that `account limit` set.',
      options: {},
    },
    () => operations => listAccounts(operations),
  ),
  'account limit': defineCommand(
    {
      summary: 'Sets how much an account may have. "default" gives a number back to its setting.',
      options: {
        account: { required: true, meaning: 'its email address' },
        instances: { meaning: 'instances that are not destroyed' },
        loading: { meaning: 'instances that hold GPUs and do not run yet' },
        'disk-gb': { meaning: 'GB of disks and volumes' },
        volumes: { meaning: 'volumes' },
      },
    },
    ({ account, instances, loading, 'disk-gb': diskGb, volumes }) => {
      const given = { instances, loading, 'disk-gb': diskGb, volumes }
      const changes = Object.entries(given).flatMap(([option, text]) =>
        text === undefined ? [] : [[option === 'disk-gb' ? 'diskGb' : option, parseQuotaOption(option, text)] as const],
      )
      if (changes.length === 0) throw new Error('Give at least one of --instances, --loading, --disk-gb, --volumes.')
      return async ({ accounts }) => {
        const { email, quotas } = await accounts.setQuotas(account, Object.fromEntries(changes))
        return { account: email, ...quotas }
      }
    },
  ),
}

async function* listAccounts({ accounts }: Parameters<ReturnType<Command['read']>>[0]) {
  for await (const { creditNanos, costPerHourNanos, createdAt, keys, instances, ...account } of readAllRows(
    accounts.page,
  )) {
    const [credit, burnRate] = [printUsd(creditNanos), printUsd(costPerHourNanos)]
    yield { ...account, credit, burnRate, createdAt, keys, instances }
  }
}
