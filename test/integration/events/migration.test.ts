// Migrates a database whose events name neither who acted nor what they are about.

import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrate } from '../../../src/database/migrations.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { migrateUntil } from '../../support/database/migrations.ts'

const [words, actors] = ['20261122222600_event_words', '20261122222601_event_actors_and_subjects']
let testDatabase: TestDatabase
let client: Client

type OldEvent = { type: string; key?: number; instance?: number; before?: object; after?: object }
type NewEvent = { actor: string; subject: string; before?: object; after?: object }

const [key, instance, account] = [7, 42, 3]
const byKey = (subject: string) => ({ actor: 'api_key', subject })

/** Each event as a gateway wrote it, and what the migrations make of it. Without facts, they stay as they are. */
const events: [OldEvent, NewEvent][] = [
  [{ type: 'INSTANCE_CREATED', key, instance, after: { label: 'a' } }, byKey('Instance 42')],
  [
    { type: 'INSTANCE_OUTBID', instance },
    { actor: 'system', subject: 'Instance 42' },
  ],
  // The instance is the subject, though the facts name an SSH key.
  [{ type: 'INSTANCE_SSH_KEYS_CHANGED', key, instance, after: { sshKeyId: 5 } }, byKey('Instance 42')],
  [{ type: 'TEMPLATE_CREATED', key, after: { templateId: 11, name: 't' } }, byKey('Template 11')],
  [{ type: 'TEMPLATE_DELETED', key, before: { templateId: '12' } }, byKey('Template 12')],
  [{ type: 'VOLUME_CREATED', key, after: { volumeId: 13 } }, byKey('Volume 13')],
  [{ type: 'SSH_KEY_UPDATED', key, before: { sshKeyId: 14 }, after: { sshKeyId: 14 } }, byKey('SshKey 14')],
  [{ type: 'API_KEY_DELETED', key, before: { apiKeyId: 15 } }, byKey('ApiKey 15')],
  [
    { type: 'API_KEY_CREATED', after: { apiKeyId: 16 } },
    { actor: 'operator', subject: 'ApiKey 16' },
  ],
  [
    { type: 'CREDIT_GRANTED', after: { amount: '5' } },
    { actor: 'operator', subject: 'Account 3' },
  ],
  [
    { type: 'ACCOUNT_QUOTAS_CHANGED', after: { maxInstances: 5 } },
    { actor: 'operator', subject: 'Account 3' },
  ],
  [{ type: 'ACCOUNT_DEBT' }, { actor: 'system', subject: 'Account 3' }],
  [{ type: 'SECRET_VARIABLE_UPDATED', key, after: { name: 'TOKEN' } }, byKey('Account 3')],
  [{ type: 'SPEND_LIMIT_CREATED', key, after: { spendLimitId: 17 } }, byKey('SpendLimit 17')],
  [
    { type: 'ACCOUNT_SPEND_LIMIT', after: { spendLimitId: 17 } },
    { actor: 'system', subject: 'SpendLimit 17' },
  ],
  [
    { type: 'WEBHOOK_CREATED', key, after: { webhookId: 18, types: ['ACCOUNT_DEBT'] } },
    { ...byKey('Webhook 18'), after: { webhookId: 18, kinds: ['ACCOUNT_DEBT'] } },
  ],
  [
    { type: 'WEBHOOK_DELETED', key, before: { webhookId: 18, types: ['ACCOUNT_DEBT'] } },
    { ...byKey('Webhook 18'), before: { webhookId: 18, kinds: ['ACCOUNT_DEBT'] } },
  ],
  // Only what webhooks recorded is renamed.
  [
    { type: 'TEMPLATE_UPDATED', key, after: { templateId: 11, types: [1] } },
    { ...byKey('Template 11'), after: { templateId: 11, types: [1] } },
  ],
]

beforeAll(async () => {
  testDatabase = await createDatabase({ empty: true })
  await migrateUntil(testDatabase.url, words)
  client = new Client(testDatabase.url)
  await client.connect()
  // The items that the events name are left out: some have long been deleted.
  await client.query('SET session_replication_role = replica')
  for (const [index, [{ type, before, after, ...ids }]] of events.entries()) {
    await client.query(
      `INSERT INTO events (id, type, account_id, instance_id, api_key_id, before, after, at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, '2026-01-01Z')`,
      [index + 1, type, account, ids.instance ?? null, ids.key ?? null, before ?? null, after ?? null],
    )
  }
  await client.query(`INSERT INTO webhooks (id, account_id, url, types, secret, created_at)
    VALUES (18, ${account}, 'https://example.com', '{ACCOUNT_DEBT}', '', '2026-01-01Z')`)
  expect((await migrate(testDatabase.url)).slice(0, 2)).toEqual([words, actors])
}, 60_000)

afterAll(async () => {
  await client.end()
  await testDatabase.drop()
})

describe('an event from before its actor and its subject were stored', () => {
  it.each(events.map(([old, expected], index) => [old.type, index, old, expected] as const))(
    'names both afterwards: %s',
    async (kind, index, old, { actor, subject, before = old.before ?? null, after = old.after ?? null }) => {
      const { rows } = await client.query(
        `SELECT kind, actor_kind AS actor, subject_type || ' ' || subject_id AS subject, before, after, api_key_id,
           created_at = '2026-01-01Z' AS same_time FROM events WHERE id = $1`,
        [index + 1],
      )
      const changed = { kind, actor, subject, before, after, api_key_id: old.key ?? null, same_time: true }
      expect(rows).toEqual([changed])
    },
  )
})

it('keeps what each webhook sends', async () => {
  expect((await client.query('SELECT kinds FROM webhooks')).rows).toEqual([{ kinds: ['ACCOUNT_DEBT'] }])
})

it('refuses an event whose actor and API key disagree', async () => {
  const contradictions = [
    `UPDATE events SET actor_kind = 'system' WHERE api_key_id IS NOT NULL`,
    `UPDATE events SET actor_kind = 'api_key' WHERE api_key_id IS NULL`,
  ]
  for (const statement of contradictions) await expect(client.query(statement)).rejects.toThrow('events_name_their_key')
})
