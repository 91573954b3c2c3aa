// Webhooks of accounts to a receiver that counts by event, and is down or slow on command.

import type { ServerResponse } from 'node:http'
import { expect } from 'vitest'
import { post, type Renter } from '../instances/renters.ts'
import { openReceiver } from '../webhooks/receiver.ts'

type RunSql = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>

const kinds = ['INSTANCE_CREATED', 'INSTANCE_REBOOTED', 'INSTANCE_OUTBID', 'INSTANCE_DESTROYED', 'SSH_KEY_CREATED']
const create = `mutation ($input: CreateWebhookInput!) { answer: createWebhook(input: $input) {
  __typename ... on CreateWebhookSuccess { webhook { id } } ... on Error { message } } }`

export async function createWebhookCounter(sql: RunSql) {
  const receiver = await openReceiver()
  /** How often each webhook got each event. */
  const counts = new Map<number, Map<string, number>>()
  let respond = (response: ServerResponse) => void response.writeHead(204).end()
  receiver.answer((response, { path, event }) => {
    const ofWebhook = counts.get(Number(path.slice(1))) ?? new Map()
    counts.set(Number(path.slice(1)), ofWebhook)
    ofWebhook.set(event.id, (ofWebhook.get(event.id) ?? 0) + 1)
    receiver.received.length = 0
    respond(response)
  })

  return {
    /** Each account gets one, whose path is the account's id. */
    async add(url: string, { accountId, apiKey }: Renter): Promise<void> {
      const input = { url: `${receiver.url}/${accountId}`, kinds }
      const { data } = await post(url, apiKey, create, input)
      expect(data.answer.__typename).toBe('CreateWebhookSuccess')
    },
    /** Answers with this status meanwhile, or with none. */
    async fail(how: number | 'silent', meanwhile: () => Promise<unknown>): Promise<void> {
      respond = how === 'silent' ? () => {} : response => void response.writeHead(how).end()
      await meanwhile()
      respond = response => void response.writeHead(204).end()
    },
    received: () => [...counts.values()].reduce((sum, one) => sum + one.size, 0),
    repeated: () => [...counts.values()].flatMap(one => [...one.values()]).reduce((sum, times) => sum + times - 1, 0),
    /** Everything that waits is sent now, instead of in minutes or hours. */
    async flush(): Promise<void> {
      const pending = 'FROM webhook_deliveries WHERE due_at IS NOT NULL'
      await sql('UPDATE webhook_deliveries SET due_at = clock_timestamp() WHERE due_at > clock_timestamp()')
      await expect
        .poll(async () => (await sql(`SELECT count(*)::int AS count ${pending}`))[0]?.['count'], {
          timeout: 120_000,
          interval: 500,
        })
        .toBe(0)
    },
    /** Each event of the kinds after the webhook was made has one delivery, which arrived, and nothing else arrived. */
    async recount(): Promise<void> {
      const rows = await sql(
        `SELECT w.account_id, w.id AS webhook, e.id, count(d.id)::int AS deliveries, count(d.delivered_at)::int AS delivered
        FROM webhooks w JOIN events made ON made.kind = 'WEBHOOK_CREATED' AND made.subject_id = w.id
        JOIN events e ON e.account_id = w.account_id AND e.kind = ANY(w.kinds) AND (e.xid, e.id) > (made.xid, made.id)
        LEFT JOIN webhook_deliveries d ON d.webhook_id = w.id AND d.event_id = e.id GROUP BY 1, 2, 3`,
      )
      expect(
        rows.filter(row => row['deliveries'] !== 1 || row['delivered'] !== 1),
        'events that were not delivered to a webhook',
      ).toEqual([])
      const expected = rows.map(row => `${row['account_id']} evt_${row['id']}`).sort()
      const arrived = [...counts]
        .flatMap(([account, events]) => [...events.keys()].map(id => `${account} ${id}`))
        .sort()
      expect(arrived, 'events that arrived').toEqual(expected)
    },
    close: receiver.close,
  }
}
