// Webhooks as operators see them: those of all accounts.

import { Prisma } from '../../database/generated/client.ts'
import { bytea, int4, nullable, type RowOf, text, timestamptz } from '../../database/row-types.ts'
import { maxRecentDeliveries } from '../../domain/webhooks/webhooks.ts'
import type { DataDeps } from '../deps.ts'
import type { Secrets } from '../secrets.ts'

const { sql, join } = Prisma

const summaryRow = {
  ...{ id: int4, accountId: int4, account: text, name: nullable(text), sealedUrl: bytea, unsealedUrl: nullable(text) },
  ...{ failingSince: nullable(timestamptz), lastStatus: nullable(int4), lastError: nullable(text), pending: int4 },
  createdAt: timestamptz,
}
/** Of the URL, only its host: the rest may be a secret of the renter. */
export type WebhookSummary = Omit<RowOf<typeof summaryRow>, 'sealedUrl' | 'unsealedUrl'> & { host: string }

/** An absent part matches every webhook. */
export type WebhookListFilter = { accountId?: number | undefined; failing: boolean }

/** `openSecrets` returns the secrets of the gateways, which have sealed the URLs. */
export function webhookListOperations({ database, openSecrets }: DataDeps & { openSecrets(): Promise<Secrets> }) {
  return {
    /** Up to `limit` webhooks after the one with the id `after`, in the order of ids. */
    async page({ accountId, failing }: WebhookListFilter, after: number, limit: number): Promise<WebhookSummary[]> {
      const secrets = await openSecrets()
      const conditions = [
        sql`w.id > ${after} AND w.deleted_at IS NULL`,
        ...(accountId === undefined ? [] : [sql`w.account_id = ${accountId}`]),
        ...(failing ? [sql`w.failing_since IS NOT NULL`] : []),
      ]
      const rows = await database.query(
        sql`
          SELECT w.id, w.account_id, a.email AS account, w.name, w.sealed_url, w.unsealed_url, w.failing_since,
            last.response_status AS last_status, last.error AS last_error, w.created_at,
            (SELECT count(*)::int FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.due_at IS NOT NULL) AS pending
          FROM webhooks w JOIN accounts a ON a.id = w.account_id LEFT JOIN LATERAL (
            SELECT d.response_status, d.error FROM (
              (SELECT * FROM webhook_deliveries WHERE webhook_id = w.id ORDER BY event_id DESC LIMIT ${maxRecentDeliveries})
              UNION ALL SELECT * FROM webhook_deliveries WHERE webhook_id = w.id AND due_at IS NOT NULL
            ) d WHERE d.attempted_at IS NOT NULL ORDER BY d.attempted_at DESC LIMIT 1
          ) last ON true
          WHERE ${join(conditions, ' AND ')} ORDER BY w.id LIMIT ${limit}`,
        summaryRow,
      )
      return rows.map(({ sealedUrl, unsealedUrl, ...webhook }) => ({
        ...webhook,
        host: new URL(unsealedUrl ?? secrets.open(sealedUrl)).host,
      }))
    },
  }
}
