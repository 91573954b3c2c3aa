// Changes of webhooks: what they keep, where deliveries go, and that no URL gets events that its author may not read.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { openReceiver, type Receiver, signersOf } from '../../support/webhooks/receiver.ts'
import { webhooksOf } from '../../support/webhooks/webhooks.ts'

let app: TestApp
let webhooks: ReturnType<typeof webhooksOf>
let receiver: Receiver
let other: Receiver
let key: string

beforeAll(async () => {
  app = await startApp({ privateWebhooks: true })
  webhooks = webhooksOf(app)
})

afterAll(() => app.close())

beforeEach(async () => {
  key = await app.newKey()
  receiver = await openReceiver()
  other = await openReceiver()
  return () => Promise.all([receiver.close(), other.close()])
})

const update = (by: string, id: string, changes: object) => webhooks.mutate(by, 'update', { id, ...changes })
const kinds = ['SSH_KEY_CREATED', 'SSH_KEY_DELETED']

async function causeEvent(name: string): Promise<void> {
  const input = `{ publicKey: "${aPublicKey(`${key} ${name}`)}", name: "${name}" }`
  const { data } = await app.graphql(key, `mutation { createSshKey(input: ${input}) { __typename } }`)
  expect(data.createSshKey.__typename).toBe('CreateSshKeySuccess')
}

const namesAt = ({ received }: Receiver) => received.map(({ event }) => event.after.name as string)

describe('a webhook that is changed', () => {
  it('keeps what the request leaves out', async () => {
    const { webhook } = await webhooks.mutate(key, 'create', { url: receiver.url, kinds, name: 'pager' })
    expect(webhook).toMatchObject({ name: 'pager', url: `${receiver.url}/` })
    const { id } = webhook
    expect((await update(key, id, { name: 'chat' })).webhook).toEqual({ ...webhook, name: 'chat' })
    expect((await update(key, id, { kinds: ['VOLUME_CREATED'] })).webhook).toEqual({
      ...{ ...webhook, name: 'chat', kinds: ['VOLUME_CREATED'] },
    })
    const url = `${other.url}/new`
    expect((await update(key, id, { url, name: null })).webhook).toEqual({
      ...{ ...webhook, name: id, kinds: ['VOLUME_CREATED'], url },
    })
    expect(await webhooks.list(key)).toMatchObject([{ id, name: id, url, kinds: ['VOLUME_CREATED'] }])
  })

  it('is told apart by its name, or else its ID, from another with the same URL', async () => {
    for (const name of ['one', 'two', undefined])
      await webhooks.mutate(key, 'create', { url: receiver.url, kinds, name })
    const listed = await webhooks.list(key)
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(['one', 'two', listed[2].id])
  })

  it('is recorded with its host, its kinds and its name, and only if something changed', async () => {
    const { id } = await webhooks.create(key, 'https://one.example.com/T0KEN', kinds)
    await update(key, id, {})
    await update(key, id, { kinds: kinds.toReversed(), url: 'https://one.example.com/T0KEN' })
    await update(key, id, { url: 'https://two.example.com/T0KEN', name: 'two' })
    const { data } = await app.graphql(
      key,
      `{ events(first: 9, filter: { subjectIds: ["${id}"], kinds: [WEBHOOK_UPDATED] }) {
        nodes { message actor { kind } changes { field before after } } } }`,
    )
    expect(data.events.nodes).toEqual([
      {
        ...{ message: 'Webhook changed.', actor: { kind: 'API_KEY' } },
        changes: [
          { field: 'host', before: 'one.example.com', after: 'two.example.com' },
          { field: 'name', before: null, after: 'two' },
        ],
      },
    ])
  })

  it('sends pending and later events to the new URL, signed with the same secret', async () => {
    const { id, secret } = await webhooks.create(key, receiver.url)
    receiver.answer(500)
    await causeEvent('fails')
    await app.runUntilIdle()
    await causeEvent('waits')
    await update(key, id, { url: other.url })
    app.clock.advance(12_000)
    await app.runUntilIdle()
    await causeEvent('later')
    await app.runUntilIdle()
    expect([namesAt(receiver), namesAt(other).toSorted()]).toEqual([['fails'], ['fails', 'later', 'waits']])
    for (const one of other.received) expect(signersOf(one, [secret], app.clock.now())).toEqual([secret])
    expect(await webhooks.deliveries(key, id)).toMatchObject(Array(3).fill({ status: 'DELIVERED' }))
  })

  it('gives up pending deliveries of kinds that it no longer gets, but not its tests', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    await causeEvent('unwanted')
    await webhooks.test(key, id)
    await update(key, id, { kinds: ['SSH_KEY_DELETED'], url: other.url })
    await causeEvent('not sent')
    await app.runUntilIdle()
    expect([receiver.received.length, other.received.map(({ event }) => event.kind)]).toEqual([0, ['WEBHOOK_TESTED']])
    expect(await webhooks.deliveries(key, id)).toMatchObject([
      { status: 'DELIVERED', event: { kind: 'WEBHOOK_TESTED' } },
      { status: 'GIVEN_UP', attempts: 0, error: 'The webhook no longer gets events of this kind.' },
    ])
  })

  it('is not sent events of a removed kind that were written during the change', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    await causeEvent('between')
    // The state that remains if the transaction of the event begins before the change and ends after it.
    await app.sql(`UPDATE webhooks SET kinds = '{SSH_KEY_DELETED}' WHERE id = ${id.slice(4)}`)
    await app.runUntilIdle()
    expect(receiver.received).toEqual([])
    expect(await webhooks.deliveries(key, id)).toMatchObject([{ status: 'GIVEN_UP', attempts: 0 }])
  })
})

describe('a change of a webhook', () => {
  it.each<[string, object, string[]]>([
    ['null for what it must have', { url: null, kinds: null }, ['url', 'kinds']],
    ['a URL with a password and no kind', { url: 'https://me:hush@example.com/', kinds: [] }, ['url', 'kinds']],
    ['an empty name', { name: '' }, ['name']],
    ['a blank name', { name: ' ' }, ['name']],
    ['a long name', { name: 'x'.repeat(257) }, ['name']],
    ['a relative URL', { url: '/berth' }, ['url']],
  ])('is refused with %s', async (_what, changes, paths) => {
    const { id } = await webhooks.create(key, receiver.url)
    const before = await webhooks.list(key)
    const { code, issues } = await update(key, id, changes)
    expect([code, issues.map(({ path }: { path: string }) => path)]).toEqual(['INVALID_INPUT', paths])
    expect(await webhooks.list(key)).toEqual(before)
  })

  it('does not find a deleted webhook, or one of another account', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    expect(await update(await app.newKey(), id, { name: 'taken' })).toMatchObject({ code: 'NOT_FOUND' })
    await webhooks.mutate(key, 'delete', { id })
    expect(await update(key, id, { name: 'late' })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await update(key, 'key_1', { name: 'x' })).toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('needs its permission', async () => {
    const { id } = await webhooks.create(key, receiver.url)
    const api = { user_read: {}, user_write: { 'webhooks.create': {}, 'webhooks.delete': {} } }
    const { errors } = await update(await app.newScopedKey(key, { api }), id, { name: 'x' })
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN', missing: ['UPDATE_WEBHOOK'] } }])
  })

  it('needs the permission to read all events that the webhook gets afterwards, unless only the name changes', async () => {
    const { id } = await webhooks.create(key, receiver.url, ['SSH_KEY_CREATED', 'INSTANCE_CREATED'])
    const before = await webhooks.list(key)
    const narrow = await app.newScopedKey(key, { api: { user_read: {}, user_write: {} } })
    const refusals = [
      { url: other.url },
      { kinds: ['INSTANCE_CREATED'] },
      { url: other.url, kinds: ['SSH_KEY_CREATED', 'INSTANCE_OUTBID'] },
    ]
    for (const changes of refusals) {
      const { errors } = await update(narrow, id, changes)
      expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN', missing: ['INSTANCE'] } }])
    }
    expect(await webhooks.list(key)).toEqual(before)
    expect(await update(narrow, id, { name: 'mine' })).toMatchObject({ webhook: { name: 'mine' } })
    const taken = await update(narrow, id, { url: other.url, kinds: ['SSH_KEY_CREATED'] })
    expect(taken).toMatchObject({ webhook: { kinds: ['SSH_KEY_CREATED'] } })
  })

  it('that redirects a webhook gets no pending event that its key may not read', async () => {
    const { id } = await webhooks.create(key, receiver.url, ['SSH_KEY_CREATED', 'API_KEY_CREATED'])
    await app.graphql(key, 'mutation { createApiKey(input: { fullAccess: true, name: "secret" }) { __typename } }')
    await causeEvent('readable')
    const narrow = await app.newScopedKey(key, {
      api: { user_read: { 'sshKeys.list': {} }, user_write: { 'webhooks.update': {} } },
    })
    await update(narrow, id, { url: other.url, kinds: ['SSH_KEY_CREATED'] })
    await app.runUntilIdle()
    expect(other.received.map(({ event }) => event.kind)).toEqual(['SSH_KEY_CREATED'])
    expect(receiver.received).toEqual([])
  })
})
