import { printUsd } from '../../domain/money.ts'
import { defineCommand, type OperatorCommand, readAllRows } from '../command.ts'
import { parseAmountOption, parseQuotaOption } from '../options.ts'
import { accountOption, parseAccountOption } from './name.ts'

export const accountCommands = {
  'account create': defineCommand(
    {
      summary: 'Creates an account and prints an API key with full access. The key is shown only once.',
      options: {
        email: { required: true, meaning: 'email address of the account' },
        credit: { meaning: 'initial credit in US dollars (default: 0)' },
        name: { meaning: 'display name (default: empty)' },
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
        'Lists all accounts: credit, cost per hour, working API keys, instances, and the quotas that "account limit" set.',
      columns: ['id', 'email', 'credit', 'costPerHour', 'keys', 'instances', 'disabledAt'],
      options: {},
    },
    () => operations => listAccounts(operations),
  ),
  'account limit': defineCommand(
    {
      summary: `Sets an account's quotas. The value "default" restores the gateway's setting.`,
      options: {
        account: { ...accountOption, required: true },
        instances: { meaning: 'maximum number of instances that are not destroyed' },
        loading: { meaning: 'maximum number of instances that hold GPUs but do not run yet' },
        'disk-gb': { meaning: 'maximum GB of disks and volumes together' },
        volumes: { meaning: 'maximum number of volumes' },
      },
    },
    ({ account, instances, loading, 'disk-gb': diskGb, volumes }) => {
      const given = { instances, loading, 'disk-gb': diskGb, volumes }
      const changes = Object.entries(given).flatMap(([option, text]) =>
        text === undefined ? [] : [[option === 'disk-gb' ? 'diskGb' : option, parseQuotaOption(option, text)] as const],
      )
      if (changes.length === 0)
        throw new Error('No quota is given. Give at least one of --instances, --loading, --disk-gb, --volumes.')
      const name = parseAccountOption(account)
      return async ({ accounts }) => {
        const { email, quotas } = await accounts.setQuotas(name, Object.fromEntries(changes))
        return { account: email, ...quotas }
      }
    },
  ),
} satisfies Record<string, OperatorCommand>

async function* listAccounts({ accounts }: Parameters<ReturnType<OperatorCommand['read']>>[0]) {
  for await (const { creditNanos, costPerHourNanos, createdAt, keys, instances, ...account } of readAllRows(
    accounts.page,
  )) {
    const [credit, costPerHour] = [printUsd(creditNanos), printUsd(costPerHourNanos)]
    yield { ...account, credit, costPerHour, createdAt, keys, instances }
  }
}
