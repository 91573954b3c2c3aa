import type { WebhookSummary } from '../../services/webhooks/list.ts'
import { findAccountId, parseOptionalAccount } from '../accounts/name.ts'
import { defineCommand, type OperatorCommand, readAllRows } from '../command.ts'

export const webhookCommands = {
  'webhook list': defineCommand(
    {
      summary:
        'Lists webhooks: whose they are, the host of their URL, since when they fail, their last answer, and deliveries to try.',
      columns: ['id', 'account', 'name', 'host', 'failingSince', 'lastAnswer', 'pending'],
      options: {
        account: { meaning: 'only webhooks of the account with this email address or id' },
        failing: { flag: true, meaning: 'only webhooks whose last attempt failed' },
      },
    },
    ({ account, failing }) => {
      const owner = parseOptionalAccount(account)
      return async function* ({ accounts, webhooks }) {
        const accountId = await findAccountId({ accounts }, owner)
        const page = (after: number, limit: number) => webhooks.page({ accountId, failing }, after, limit)
        for await (const webhook of readAllRows(page)) yield presentWebhook(webhook)
      }
    },
  ),
} satisfies Record<string, OperatorCommand>

function presentWebhook({ id, account, name, host, failingSince, lastStatus, lastError, ...rest }: WebhookSummary) {
  const { pending, createdAt } = rest
  return { id, account, name, host, failingSince, lastAnswer: lastError ?? lastStatus, pending, createdAt }
}
