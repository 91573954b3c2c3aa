// Webhooks: management, permissions, and secrets that stay hidden.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Permissions } from '../../../src/domain/accounts/permissions/permissions.ts'
import { eventReadOperations } from '../../../src/domain/events/events.ts'
import { createSecrets, sealJson } from '../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries, interruptAfterStatement } from '../../support/database/captured-statements.ts'
import { dumpDatabase } from '../../support/database/dump.ts'
import { openReceiver, type Receiver } from '../../support/webhooks/receiver.ts'
import { webhooksOf } from '../../support/webhooks/webhooks.ts'

let app: TestApp
let webhooks: ReturnType<typeof webhooksOf>
let receiver: Receiver

beforeAll(async () => {
  app = await startApp({ privateWebhooks: true })
  webhooks = webhooksOf(app)
  receiver = await openReceiver()
})

afterAll(async () => {
  await receiver.close()
  await app.close()
})

const url = 'https://hooks.example.com/berth'
const kinds = ['INSTANCE_CREATED']

describe('a webhook', () => {
  it('is created, shown and deleted', async () => {
    const key = await app.newKey()
    const made = await webhooks.mutate(key, 'create', { url, kinds: ['SSH_KEY_DELETED', 'INSTANCE_CREATED', ...kinds] })
    expect(made).toEqual({
      __typename: 'CreateWebhookSuccess',
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      replayed: false,
      webhook: {
        id: expect.stringMatching(/^whk_\d+$/),
        name: expect.stringMatching(/^whk_/),
        url,
        kinds: ['INSTANCE_CREATED', 'SSH_KEY_DELETED'],
        createdAt: app.clock.now().toISOString(),
        oldSecretUntil: null,
      },
      errors: undefined,
    })
    expect(await webhooks.list(key)).toEqual([{ ...made.webhook, recentDeliveries: [] }])
    const { id } = made.webhook
    expect(await webhooks.mutate(key, 'delete', { id })).toMatchObject({ deletedId: id })
    expect(await webhooks.list(key)).toEqual([])
    for (const name of ['delete', 'test', 'rotate'] as const)
      expect(await webhooks.mutate(key, name, { id })).toMatchObject({ __typename: 'NotFoundError' })
    expect((await app.graphql(key, `{ node(id: "${id}") { id } }`)).data).toEqual({ node: null })
  })

  it('has events that name their author, and of its URL only the host', async () => {
    const key = await app.newKey()
    const hidden = `${url}/T0KEN-in-the-path`
    const { id } = await webhooks.create(key, hidden, kinds)
    await webhooks.mutate(key, 'rotate', { id })
    await webhooks.mutate(key, 'delete', { id })
    const number = Number(id.slice(4))
    const facts = { webhookId: number, name: null, host: 'hooks.example.com', kinds }
    const events = await app.sql(`SELECT kind, before, after, reason, api_key_id IS NOT NULL AS by FROM events
      WHERE coalesce(after, before)->>'webhookId' = '${number}' ORDER BY id`)
    const event = (kind: string, before: object | null, after: object | null) => ({
      ...{ kind, before, after, reason: 'USER_REQUEST', by: true },
    })
    expect(events).toEqual([
      event('WEBHOOK_CREATED', null, facts),
      event('WEBHOOK_SECRET_ROTATED', null, facts),
      event('WEBHOOK_DELETED', facts, null),
    ])
  })

  it('is refused with every issue at once', async () => {
    const key = await app.newKey()
    const answer = await webhooks.mutate(key, 'create', { url: 'https://me:hush@example.com/', kinds: [] })
    expect(answer.issues).toEqual([
      { path: 'url', message: 'must not contain a user name or password.' },
      { path: 'kinds', message: 'must have at least one event kind.' },
    ])
    expect(JSON.stringify(answer)).not.toContain('hush')
  })

  it('is created once per idempotency key, and the key is refused for another input', async () => {
    const key = await app.newKey()
    const input = { url, kinds, idempotencyKey: 'one' }
    const [first, second] = [await webhooks.mutate(key, 'create', input), await webhooks.mutate(key, 'create', input)]
    expect(second).toEqual({ ...first, replayed: true })
    expect(await webhooks.list(key)).toHaveLength(1)
    const other = await webhooks.mutate(key, 'create', { ...input, url: `${url}/2` })
    expect(other).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
    const { id } = first.webhook
    const rotate = { id, idempotencyKey: 'two' }
    const [third, fourth] = [await webhooks.mutate(key, 'rotate', rotate), await webhooks.mutate(key, 'rotate', rotate)]
    expect(fourth).toEqual({ ...third, replayed: true })
  })

  it('is shown as it is now in a repeated answer, and is refused there once its secret has changed', async () => {
    const key = await app.newKey()
    const input = { url, kinds, idempotencyKey: 'one' }
    const first = await webhooks.mutate(key, 'create', input)
    const { id } = first.webhook
    await webhooks.mutate(key, 'update', { id, name: 'renamed' })
    const renamed = { ...first, replayed: true, webhook: { ...first.webhook, name: 'renamed' } }
    expect(await webhooks.mutate(key, 'create', input)).toEqual(renamed)
    const rotate = { id, idempotencyKey: 'two' }
    await webhooks.mutate(key, 'rotate', rotate)
    const refusal = {
      code: 'IDEMPOTENCY_KEY_REUSED',
      message: `Webhook ${id} no longer exists, or has another secret than in the first answer to this request. To repeat the request, send a new idempotency key.`,
    }
    expect(await webhooks.mutate(key, 'create', input)).toMatchObject(refusal)
    await webhooks.mutate(key, 'rotate', { id })
    expect(await webhooks.mutate(key, 'rotate', rotate)).toMatchObject(refusal)
    await webhooks.mutate(key, 'delete', { id })
    expect(await webhooks.mutate(key, 'create', input)).toMatchObject(refusal)
  })

  it('answers its secret from what an older gateway stored', async () => {
    const key = await app.newKey()
    const { id } = await webhooks.create(key, url)
    const rotate = { id, idempotencyKey: 'one' }
    const first = await webhooks.mutate(key, 'rotate', rotate)
    const stored = {
      id: Number(id.slice(4)),
      url,
      types: kinds,
      createdAt: '2026-11-01T00:00:00Z',
      secret: first.secret,
    }
    const sealed = sealJson(createSecrets('a secret of tests'), { ...stored, oldSecretUntil: null })
    const update = `UPDATE idempotency_keys i SET result = $1 FROM webhooks w
      WHERE i.account_id = w.account_id AND w.id = ${stored.id}`
    await app.sql(update, [sealed])
    expect(await webhooks.mutate(key, 'rotate', rotate)).toEqual({ ...first, replayed: true })
  })

  it('is one of at most eight, even when several are created at once', async () => {
    const key = await app.newKey()
    const answers = await Promise.all(
      Array.from({ length: 11 }, (_, index) => webhooks.mutate(key, 'create', { url: `${url}/${index}`, kinds })),
    )
    const outcomes = answers.map(answer => answer.code ?? 'MADE').toSorted()
    expect(outcomes).toEqual([...Array(3).fill('CONFLICT'), ...Array(8).fill('MADE')])
    const [first] = await webhooks.list(key)
    await webhooks.mutate(key, 'delete', { id: first.id })
    await webhooks.create(key, url)
  })
})

describe('a key', () => {
  const scoped = async (permissions: Permissions['api']) => {
    const owner = await app.newKey()
    return { owner, narrow: await app.newScopedKey(owner, { api: { user_write: {}, ...permissions } }) }
  }

  it.each([
    ['that may not read instances', { user_read: {} }, 'INSTANCE of the category INSTANCE_READ'],
    [
      'that may only list instances',
      { instance_read: { 'instances.list': {} } },
      'INSTANCE of the category INSTANCE_READ',
    ],
    [
      'that may read one instance',
      { instance_read: { 'instances.get': { constraints: { id: { eq: 5 } } } } },
      'INSTANCE of the category INSTANCE_READ without its constraint on id',
    ],
  ])('%s cannot create a webhook for events of instances', async (_who, permissions, lack) => {
    const { owner, narrow } = await scoped(permissions)
    const create = (kinds: string[]) => webhooks.mutate(narrow, 'create', { url, kinds })
    for (const kinds of [['INSTANCE_CREATED'], ['INSTANCE_OUTBID', 'INSTANCE_CREATED']]) {
      const { errors } = await create(kinds)
      expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN', missing: ['INSTANCE'] } }])
      expect(errors[0].message.endsWith(`it lacks ${lack}.`)).toBe(true)
    }
    expect(await webhooks.list(owner)).toEqual([])
    // The key cannot get the secret of such a webhook, either.
    const { id } = await webhooks.create(owner, url, kinds)
    const { errors } = await webhooks.mutate(narrow, 'rotate', { id })
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN', missing: ['INSTANCE'] } }])
  })

  it('cannot get the secret of a webhook that gets more kinds meanwhile, nor a repeated answer with it', async () => {
    const { owner, narrow } = await scoped({ user_read: { 'sshKeys.list': {} } })
    const { webhook } = await webhooks.mutate(owner, 'create', { url, kinds: ['SSH_KEY_CREATED'] })
    const { id } = webhook
    const rotate = (idempotencyKey: string) => webhooks.mutate(narrow, 'rotate', { id, idempotencyKey })
    const first = await rotate('one')
    expect(first.webhook.id).toBe(id)
    const addKinds = () => webhooks.mutate(owner, 'update', { id, kinds: [...kinds, 'SSH_KEY_CREATED'] })
    const meanwhile = await interruptAfterStatement(() => rotate('two'), /INSERT INTO idempotency_keys/, addKinds)
    for (const { errors } of [meanwhile, await rotate('one')])
      expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN', missing: ['INSTANCE'] } }])
    const rotations = `SELECT count(*)::int FROM events WHERE kind = 'WEBHOOK_SECRET_ROTATED' AND after->>'webhookId' = '${id.slice(4)}'`
    expect(await app.sql(rotations)).toEqual([{ count: 1 }])
  })

  it('that may read all events of a kind can create a webhook for the kind', async () => {
    const { narrow } = await scoped({ instance_read: { 'instances.get': {} }, user_read: { 'sshKeys.list': {} } })
    const answer = await webhooks.mutate(narrow, 'create', { url, kinds: ['INSTANCE_CREATED', 'SSH_KEY_DELETED'] })
    expect(answer).toMatchObject({ webhook: { kinds: ['INSTANCE_CREATED', 'SSH_KEY_DELETED'] } })
  })

  it('sees only deliveries of events that it may read', async () => {
    const { owner, narrow } = await scoped({ user_read: { 'webhooks.list': {} } })
    const { id } = await webhooks.create(owner, receiver.url, ['API_KEY_CREATED', 'WEBHOOK_CREATED'])
    await webhooks.create(owner, url)
    const mutation = 'mutation { createApiKey(input: { name: "seen", fullAccess: true }) { __typename } }'
    expect((await app.graphql(owner, mutation)).data.createApiKey.__typename).toBe('CreateApiKeySuccess')
    const kindsOf = async (key: string) => (await webhooks.deliveries(key, id)).map(({ event }) => event.kind)
    expect(await kindsOf(owner)).toEqual(['API_KEY_CREATED', 'WEBHOOK_CREATED', 'WEBHOOK_CREATED'])
    expect(await kindsOf(narrow)).toEqual(['WEBHOOK_CREATED', 'WEBHOOK_CREATED'])
  })

  it('of another account sees none of the webhooks', async () => {
    const { id } = await webhooks.create(await app.newKey(), url)
    const stranger = await app.newKey()
    expect(await webhooks.list(stranger)).toEqual([])
    expect((await app.graphql(stranger, `{ node(id: "${id}") { id } }`)).data).toEqual({ node: null })
  })
})

it('the secret of a webhook is in one answer, and in no other answer, table, log or event; nor is its URL', async () => {
  const key = await app.newKey()
  const token = 'T0KEN-in-the-URL'
  const input = {
    url: `${receiver.url}/${token}?key=${token}`,
    kinds: Object.keys(eventReadOperations),
    idempotencyKey: 'secret',
  }
  const { secret, webhook } = await webhooks.mutate(key, 'create', input)
  const rotated = await webhooks.mutate(key, 'rotate', { id: webhook.id, idempotencyKey: 'again' })
  const answers = [await webhooks.test(key, webhook.id), await webhooks.list(key)]
  await app.runUntilIdle()
  answers.push(await webhooks.deliveries(key, webhook.id))
  const dump = await dumpDatabase(app.database.url)
  expect(dump).toContain(new URL(receiver.url).host)
  const sent = receiver.received.map(({ headers, body }) => [headers, body])
  expect(sent.length).toBeGreaterThan(1)
  for (const place of [dump, ...[answers, app.logLines, sent].map(part => JSON.stringify(part))]) {
    for (const hidden of [secret, rotated.secret]) expect(place).not.toContain(hidden)
    expect(place).not.toContain('whsec_')
  }
  // Answers show the URL to those who may read the webhook.
  for (const place of [dump, JSON.stringify(app.logLines)]) expect(place).not.toContain(token)
  expect(receiver.received.filter(({ path }) => path === `/${token}?key=${token}`).length).toBeGreaterThan(1)
})

describe('a page of webhooks', () => {
  it('costs as many statements as a single webhook, however many deliveries there are', async () => {
    const [few, many] = [await app.newKey(), await app.newKey()]
    await webhooks.create(few, url)
    for (let count = 1; count <= 8; count += 1) {
      const { id } = await webhooks.create(many, url)
      for (let tests = 1; tests <= 3; tests += 1) await webhooks.test(many, id)
    }
    const query =
      '{ viewer { account { webhooks { id recentDeliveries(first: 50) { id status event { id kind } } } } } }'
    const count = async (key: string, expected: number) => {
      await app.graphql(key, '{ viewer { account { id } } }')
      const statements = await captureQueries(async () => {
        const { data, errors } = await app.graphql(key, query)
        expect([errors, data.viewer.account.webhooks.length]).toEqual([undefined, expected])
      })
      return statements.length
    }
    expect(await count(many, 8)).toBe(await count(few, 1))
  })

  it('is read with one statement, and of each webhook only what is asked for', async () => {
    const key = await app.newKey()
    const ids = [(await webhooks.create(key, url)).id, (await webhooks.create(key, url)).id]
    const queries = [
      '{ viewer { account { webhooks { id kinds } } } }',
      `{ nodes(ids: ${JSON.stringify(ids)}) { ... on Webhook { id kinds } } }`,
      `mutation { updateWebhook(input: { id: "${ids[0]}" }) { ... on UpdateWebhookSuccess { webhook { id kinds } } } }`,
    ]
    for (const query of queries) {
      const sent = await captureQueries(async () => {
        expect((await app.graphql(key, query)).errors).toBeUndefined()
      })
      const reads = sent.filter(text => text.includes('webhooks') && !text.includes('FOR NO KEY UPDATE'))
      expect(reads, query).toHaveLength(1)
      expect(reads[0]).toContain('kinds')
      expect(reads[0]).not.toMatch(/_url"|"name"|secret|created_at/)
    }
  })

  it('reads two columns for two fields of deliveries, and of their events only those that are asked for', async () => {
    const key = await app.newKey()
    const { id } = await webhooks.create(key, url)
    const read = async (query: string) => {
      const statements = await captureQueries(async () => {
        expect((await app.graphql(key, query)).errors).toBeUndefined()
      })
      return statements.map(text => /SELECT ([de]\..*?) FROM (?:webhooks|events)/.exec(text)?.[1]).filter(Boolean)
    }
    const newest = (fields: string) =>
      read(`{ node(id: "${id}") { ... on Webhook { recentDeliveries { ${fields} } } } }`)
    // With the key of each: its webhook and its event.
    expect(await newest('attempts error')).toEqual(['d.id,d.webhook_id,d.event_id,d.attempts,d.error'])
    expect(await newest('error event { kind }')).toEqual(['e.id,e.kind,d.id,d.webhook_id,d.event_id,d.error'])
    const test = `mutation { testWebhook(input: { id: "${id}" }) { ... on TestWebhookSuccess { delivery { attempts error } } } }`
    expect(await read(test)).toEqual(['d.id,d.webhook_id,d.event_id,d.attempts,d.error'])
  })

  it.each([0, 51, -1])('cannot have %d deliveries per webhook', async first => {
    const key = await app.newKey()
    await webhooks.create(key, url)
    const { errors } = await app.graphql(
      key,
      `{ viewer { account { webhooks { recentDeliveries(first: ${first}) { id } } } } }`,
    )
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
  })

  it('has at most the newest 50 deliveries per webhook, newest first', async () => {
    const key = await app.newKey()
    const { id } = await webhooks.create(key, url)
    const ids: string[] = []
    for (let tests = 1; tests <= 52; tests += 1) ids.push((await webhooks.test(key, id)).id)
    const found = await webhooks.deliveries(key, id)
    expect(found.map(delivery => delivery.id)).toEqual(ids.toReversed().slice(0, 50))
  })
})

it('an event costs as many statements without webhooks as with one', async () => {
  const [none, some] = [await app.newKey(), await app.newKey()]
  await webhooks.create(some, url, ['API_KEY_CREATED'])
  const statements = async (key: string) => {
    await app.graphql(key, '{ viewer { account { id } } }')
    return (
      await captureQueries(() =>
        app.graphql(key, 'mutation { createApiKey(input: { fullAccess: true }) { __typename } }'),
      )
    ).length
  }
  expect(await statements(none)).toBe(await statements(some))
})
