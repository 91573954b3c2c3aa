// The history of events: of an account and of an instance.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Permissions } from '../../../src/domain/accounts/permissions/permissions.ts'
import { type EventKind, eventReadOperations } from '../../../src/domain/events/events.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let owner: string
let stranger: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  // Instance ids that no other type uses.
  await app.sql('ALTER SEQUENCE instances_id_seq RESTART 5000001')
  owner = await app.newKey(null, someCredit)
  stranger = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

// biome-ignore lint/suspicious/noExplicitAny: the result has the fields that the query selects
async function ask(key: string, query: string): Promise<any> {
  const { data, errors } = await app.graphql(key, query)
  expect(errors).toBeUndefined()
  return data
}
type Page = {
  nodes: { id: string; kind: EventKind }[]
  edges: { cursor: string }[]
  pageInfo: Record<'hasNextPage' | 'hasPreviousPage', boolean> & Record<'startCursor' | 'endCursor', string | null>
}
const pageFields = 'nodes { id kind } edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'
const page = async (key: string, args = ''): Promise<Page> =>
  (await ask(key, `{ events${args} { ${pageFields} } }`)).events
const idsOf = ({ nodes }: Page) => nodes.map(({ id }) => id)
const idOf = async (key: string) =>
  (await ask(key, '{ viewer { account { id } } }')).viewer.account.id.slice('acc_'.length) as string
/** A key of an account without events. */
async function newKey(account = {}): Promise<string> {
  const key = await app.newKey(null, account)
  await app.sql(`DELETE FROM events WHERE account_id = ${await idOf(key)}`)
  return key
}
const write = async (key: string, count = 1) =>
  await app.sql(`INSERT INTO events (kind, account_id, actor_kind, subject_type, subject_id, created_at)
    SELECT 'CREDIT_GRANTED', ${await idOf(key)}, 'system', 'Account', ${await idOf(key)}, now() FROM generate_series(1, ${count})`)
const refusal = (code: string) => [{ extensions: { code } }]

describe('an event', () => {
  it('says what happened, when, why, who made it, and what changed, in names of the schema', async () => {
    const id = await rentals.rent(owner, { label: 'first', disk: 20, price: 0.25, runtype: 'ssh_direct' })
    const offerId = (await ask(owner, `{ instance(id: ${id}) { offer { id } machine { id } } }`)).instance
    await rentals.converge()
    await app.rest(owner, 'PUT', `/instances/${id}/`, { label: 'second' })
    await app.rest(owner, 'PUT', `/instances/${id}/`, { state: 'stopped' })
    const fields = `id kind createdAt message reason { code message exitCode } note actor { kind ... on ApiKeyActor { apiKeyId apiKey { id } } } subjectId subject { ... on Instance { label } }
      previousStatus status changes { field before after }`
    const { instance } = await ask(owner, `{ instance(id: ${id}) { events { nodes { ${fields} } } } }`)
    const by = (await ask(owner, '{ viewer { account { apiKeys { id current } } } }')).viewer.account.apiKeys[0].id
    const common = { id: expect.stringMatching(/^evt_\d+$/), subjectId: `ins_${id}`, subject: { label: 'second' } }
    const createdAt = expect.any(String)
    const byOwner = {
      ...common,
      createdAt,
      reason: { code: 'USER_REQUEST', message: 'It was requested with an API key.', exitCode: null },
      note: null,
      actor: { kind: 'API_KEY', apiKeyId: by, apiKey: { id: by } },
      previousStatus: null,
      status: null,
    }
    const became = (previousStatus: string, status: string, code: string, reason: string) => ({
      ...{
        ...common,
        createdAt,
        kind: 'INSTANCE_STATUS_CHANGED',
        actor: { kind: 'SYSTEM' },
        previousStatus,
        status,
        note: null,
        message: previousStatus === status ? reason : `Instance is now ${status.toLowerCase()}. ${reason}`,
      },
      reason: { code, message: reason, exitCode: null },
      changes: previousStatus === status ? [] : [{ field: 'status', before: previousStatus, after: status }],
    })
    const added = (field: string, after: string) => ({ field, before: null, after })
    expect(instance.events.nodes).toEqual([
      {
        ...{ ...byOwner, kind: 'INSTANCE_CREATED', message: 'Instance rented.' },
        changes: expect.arrayContaining([
          added('image', 'ubuntu'),
          added('mode', 'SSH_DIRECT'),
          added('label', 'first'),
          added('diskGb', '20'),
          added('targetState', 'RUNNING'),
          added('offerId', offerId.offer.id),
          added('machineId', offerId.machine.id),
          added('gpuPricePerHour', '0.25'),
        ]),
      },
      {
        ...byOwner,
        reason: { code: 'GPUS_FREE', message: 'The GPUs are free for this instance.', exitCode: null },
        actor: { kind: 'SYSTEM' },
        kind: 'INSTANCE_GRANTED',
        message: 'Instance received its GPUs.',
        changes: [{ field: 'granted', before: 'false', after: 'true' }],
      },
      became('CREATED', 'LOADING', 'PULLING', 'The machine is pulling the image.'),
      became('LOADING', 'LOADING', 'STARTING', 'The container is starting.'),
      became('LOADING', 'RUNNING', 'STARTED', 'The container is up.'),
      {
        ...{ ...byOwner, kind: 'INSTANCE_LABEL_CHANGED', message: 'Instance label changed to "second".' },
        changes: [{ field: 'label', before: 'first', after: 'second' }],
      },
      {
        ...{ ...byOwner, kind: 'INSTANCE_TARGET_CHANGED', message: 'Instance stop requested.' },
        changes: [{ field: 'targetState', before: 'RUNNING', after: 'STOPPED' }],
      },
    ])
  })

  it('says with which code a container exited, as its instance does, and REST says its reason', async () => {
    const id = await rentals.rentToStatus(owner, 'running')
    await rentals.exit(id, 137)
    const reason = '{ code message exitCode }'
    const { instance } = await ask(
      owner,
      `{ instance(id: ${id}) { statusReason ${reason} events(last: 10) { nodes { kind reason ${reason} changes { field } } } } }`,
    )
    const exited = { code: 'EXITED', message: 'The container exited with code 137.', exitCode: 137 }
    expect(instance.statusReason).toEqual(exited)
    const changes = [{ field: 'status' }]
    expect(instance.events.nodes).toContainEqual({ kind: 'INSTANCE_STATUS_CHANGED', reason: exited, changes })
    const { body } = await app.rest(owner, 'GET', '/audit_logs/')
    expect(JSON.stringify(body)).toContain('"reason":"EXITED"')
  })

  it('has the free text of the operator as its note, which is the reason over REST', async () => {
    const key = await newKey({ email: 'noted@example.com' })
    await app.operations.accounts.grantCredit('noted@example.com', { amountNanos: 1n, reason: 'OUTBID' })
    const { events } = await ask(key, '{ events { nodes { kind note message reason { code } } } }')
    const message = 'Credit granted.'
    expect(events.nodes).toEqual([{ kind: 'CREDIT_GRANTED', note: 'OUTBID', message, reason: null }])
    const { body } = await app.rest(key, 'GET', '/audit_logs/')
    expect(JSON.stringify(body)).toContain('"reason":"OUTBID"')
  })

  it('has no reason when only a newer gateway knows its code', async () => {
    const key = await newKey()
    await write(key)
    await app.sql(`UPDATE events SET reason = 'constructor' WHERE account_id = ${await idOf(key)}`)
    expect((await ask(key, '{ events { nodes { reason { code } } } }')).events.nodes).toEqual([{ reason: null }])
  })

  it('of any type has a sentence, its subject, and no facts for operators only', async () => {
    const key = await newKey()
    const facts: Partial<Record<EventKind, [object | null, object]>> = {
      CREDIT_GRANTED: [{ creditNanos: '0' }, { creditNanos: '12500000000', idempotencyKey: 'a hidden key' }],
      VOLUME_CREATED: [null, { volumeId: '7', name: 'data', sizeMb: 10_500, machineId: 3, diskNanos: '42' }],
      API_KEY_CREATED: [null, { apiKeyId: 9, name: '', permissions: { api: { misc: {} } }, expiresAt: null }],
    }
    const kinds = Object.keys(eventReadOperations) as EventKind[]
    const rows = kinds.map(kind => ({ kind, before: facts[kind]?.[0] ?? null, after: facts[kind]?.[1] ?? null }))
    await app.sql(`INSERT INTO events (kind, account_id, actor_kind, subject_type, subject_id, before, after, created_at)
      SELECT kind, ${await idOf(key)}, 'system', 'Account', ${await idOf(key)}, before, after, now()
      FROM json_to_recordset('${JSON.stringify(rows)}') AS r(kind text, before jsonb, after jsonb)`)
    const { events } = await ask(
      key,
      '{ events(first: 100) { nodes { kind message changes { field before after } } } }',
    )
    type EventNode = { kind: string; message: string; changes: object[] }
    expect(events.nodes.map(({ kind }: EventNode) => kind)).toEqual(kinds)
    expect(events.nodes.every(({ message }: EventNode) => /^[A-Z].*\.$/.test(message))).toBe(true)
    const of = (kind: EventKind) => events.nodes.find((node: EventNode) => node.kind === kind)
    expect(of('CREDIT_GRANTED').changes).toEqual([{ field: 'credit', before: '0', after: '12.5' }])
    const shown = Object.entries({
      volumeId: 'vol_7',
      name: 'data',
      sizeGb: '10.5',
      machineId: 'mch_3',
      pricePerHour: '0.000000042',
    })
    expect(of('VOLUME_CREATED').message).toBe('Volume "data" created.')
    expect(new Set(of('VOLUME_CREATED').changes)).toEqual(
      new Set(shown.map(([field, after]) => ({ field, before: null, after }))),
    )
    expect(of('API_KEY_CREATED').changes).toContainEqual({ field: 'apiKeyId', before: null, after: 'key_9' })
  })

  it('is found by its id only within its account and by a key that may read its subject', async () => {
    await write(owner)
    const id = idsOf(await page(owner)).at(-1) as string
    const find = async (key: string) => (await ask(key, `{ node(id: "${id}") { id } }`)).node
    expect(await find(owner)).toEqual({ id })
    expect(await find(stranger)).toBeNull()
    const events = { 'events.list': {} }
    expect(await find(await app.newScopedKey(owner, { api: { user_read: events } }))).toBeNull()
  })
})

describe('the history of an account', () => {
  it('starts with the newest events by default, and can be read whole from either end', async () => {
    const key = await newKey()
    await write(key, 57)
    const whole = idsOf(await page(key, '(first: 100)'))
    expect(whole).toHaveLength(57)
    expect(idsOf(await page(key))).toEqual(whole.slice(-25))
    const read: string[][] = [[], []]
    for (let args = '(first: 10)', more = true; more; ) {
      const { pageInfo, ...rest } = await page(key, args)
      read[0]?.push(...idsOf({ pageInfo, ...rest }))
      more = pageInfo.hasNextPage
      args = `(first: 10, after: "${pageInfo.endCursor}")`
    }
    for (let args = '(last: 10)', more = true; more; ) {
      const { pageInfo, ...rest } = await page(key, args)
      read[1]?.unshift(...idsOf({ pageInfo, ...rest }))
      more = pageInfo.hasPreviousPage
      args = `(last: 10, before: "${pageInfo.startCursor}")`
    }
    expect(read).toEqual([whole, whole])
  })

  it('continues after the last cursor of a page, even of an empty page', async () => {
    const key = await newKey()
    const { pageInfo } = await page(key)
    expect(pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: false, startCursor: null })
    const resume = async (cursor: string | null) => await page(key, `(after: "${cursor}")`)
    const nothing = await resume(pageInfo.endCursor)
    await write(key, 2)
    const news = idsOf(await page(key))
    expect(news).toHaveLength(2)
    expect(idsOf(await resume(pageInfo.endCursor))).toEqual(news)
    expect(idsOf(await resume(nothing.pageInfo.endCursor))).toEqual(news)
    const first = await page(key, '(first: 1)')
    expect((await page(key, `(before: "${first.pageInfo.endCursor}")`)).pageInfo.endCursor).toBeNull()
  })

  it('is filtered by kind and by subject', async () => {
    const [one, other] = [await rentals.rent(owner), await rentals.rent(owner)]
    const read = async (filter: string) =>
      (await ask(owner, `{ events(first: 100, filter: { ${filter} }) { nodes { kind subjectId } } }`)).events.nodes
    const created = (id: number) => ({ kind: 'INSTANCE_CREATED', subjectId: `ins_${id}` })
    const both = `subjectIds: ["ins_${one}", "vol_${one}", "ins_${other}"]`
    expect(await read(`${both}, kinds: [INSTANCE_CREATED]`)).toEqual([created(one), created(other)])
    expect(await read(`subjectIds: ["ins_${one}"]`)).toHaveLength(2)
    expect(await read(`${both}, kinds: []`)).toEqual([])
  })

  it.each([
    ['(after: "nonsense")', 'INVALID_CURSOR'],
    ['(after: "")', 'INVALID_CURSOR'],
    [
      `(after: "${Buffer.from('["v1","events",1,"99999999999999999999","0"]').toString('base64url')}")`,
      'INVALID_CURSOR',
    ],
    [`(after: "${Buffer.from('["v1","events",7,"9","0"]').toString('base64url')}")`, 'CURSOR_EXPIRED'],
    ['(first: 101)', 'BAD_USER_INPUT'],
    ['(filter: { subjectIds: ["off_1"] })', 'BAD_USER_INPUT'],
    ['(filter: { subjectIds: ["1"] })', 'BAD_USER_INPUT'],
    [`(filter: { subjectIds: [${Array.from({ length: 101 }, (_, id) => `"ins_${id}"`)}] })`, 'BAD_USER_INPUT'],
  ])('is refused for events%.40s', async (args, code) => {
    const { data, errors } = await app.graphql(owner, `{ events${args} { nodes { id } } }`)
    expect([data, errors]).toMatchObject([{ events: null }, refusal(code)])
  })

  it('shows a key the events whose subjects it may read, in full pages', async () => {
    const key = await newKey(someCredit)
    const [one, other] = [await rentals.rent(key), await rentals.rent(key)]
    const read = async (permissions: Permissions['api']) => {
      const scoped = await app.newScopedKey(key, { api: { user_read: { 'events.list': {} }, ...permissions } })
      return (await ask(scoped, '{ events(first: 2) { nodes { kind subjectId } } }')).events.nodes
    }
    await write(key, 2)
    const of = (id: number) => ['CREATED', 'GRANTED'].map(end => ({ kind: `INSTANCE_${end}`, subjectId: `ins_${id}` }))
    expect(await read({})).toEqual([])
    expect(await read({ instance_read: {} })).toEqual(of(one))
    const only = { constraints: { id: { eq: other } } }
    expect(await read({ instance_read: { 'instances.get': only } })).toEqual(of(other))
    const viewer = { 'events.list': {}, 'accounts.viewer': {} }
    expect(await read({ user_read: viewer })).toEqual(
      Array(2).fill({ kind: 'CREDIT_GRANTED', subjectId: `acc_${await idOf(key)}` }),
    )
  })
})

describe('the actor of an event', () => {
  const actorsOf = async (key: string, kind: string) => {
    const { events } = await ask(
      key,
      `{ events(filter: { kinds: [${kind}] }) { nodes { actor { __typename kind ... on ApiKeyActor { apiKeyId } } } } }`,
    )
    return events.nodes.map(({ actor }: { actor: object }) => actor)
  }

  it('is the operator for a command of the operator', async () => {
    const key = await app.newKey(null, someCredit)
    const operator = { __typename: 'OperatorActor', kind: 'OPERATOR' }
    expect(await actorsOf(key, 'CREDIT_GRANTED')).toEqual([operator])
    expect(await actorsOf(key, 'API_KEY_CREATED')).toEqual([operator])
  })

  it('is Berth itself for what the market and the machine did', async () => {
    const key = await app.newKey(null, someCredit)
    await rentals.rent(key)
    expect(await actorsOf(key, 'INSTANCE_GRANTED')).toEqual([{ __typename: 'SystemActor', kind: 'SYSTEM' }])
  })

  it('is the API key for a request, and keeps its ID when the key is gone', async () => {
    const key = await app.newKey(null, someCredit)
    const { viewer } = await ask(key, '{ viewer { account { apiKeys { id } } } }')
    const actor = { __typename: 'ApiKeyActor', kind: 'API_KEY', apiKeyId: viewer.account.apiKeys[0].id }
    await rentals.rent(key)
    expect(await actorsOf(key, 'INSTANCE_CREATED')).toEqual([actor])
  })
})

describe('the subject of an event', () => {
  const addVariable = 'updateSecretVariables(input: { variables: [{ name: "A", value: "b" }] }) { __typename }'

  it('is what was made: a key, a webhook, or the account for a secret variable', async () => {
    const key = await newKey(someCredit)
    const { createApiKey, createWebhook } = await ask(
      key,
      `mutation { createApiKey(input: { name: "one", fullAccess: true }) { ... on CreateApiKeySuccess { apiKey { id } } }
        createWebhook(input: { url: "https://hooks.example.com/", kinds: [CREDIT_GRANTED] }) {
          ... on CreateWebhookSuccess { webhook { id } } } ${addVariable} }`,
    )
    const { events } = await ask(key, '{ events { nodes { kind subjectId subject { id __typename } } } }')
    const about = (kind: string, id: string, __typename: string) => ({
      kind,
      subjectId: id,
      subject: { id, __typename },
    })
    expect(events.nodes).toEqual([
      about('API_KEY_CREATED', createApiKey.apiKey.id, 'ApiKey'),
      about('WEBHOOK_CREATED', createWebhook.webhook.id, 'Webhook'),
      about('SECRET_VARIABLE_UPDATED', `acc_${await idOf(key)}`, 'Account'),
    ])
  })

  it('is null when it is gone, and its ID stays', async () => {
    const key = await newKey(someCredit)
    const { createWebhook } = await ask(
      key,
      `mutation { createWebhook(input: { url: "https://hooks.example.com/", kinds: [CREDIT_GRANTED] }) {
        ... on CreateWebhookSuccess { webhook { id } } } }`,
    )
    const { id } = createWebhook.webhook
    await ask(key, `mutation { deleteWebhook(input: { id: "${id}" }) { __typename } }`)
    const { events } = await ask(
      key,
      `{ events(filter: { subjectIds: ["${id}"] }) { nodes { subjectId subject { id } } } }`,
    )
    expect(events.nodes).toEqual(Array(2).fill({ subjectId: id, subject: null }))
  })

  it('costs as many statements for 20 events as for one', async () => {
    const key = await app.newKey(null, someCredit)
    for (let index = 0; index < 10; index += 1) await rentals.rent(key)
    const query = (first: number) =>
      `{ events(first: ${first}, filter: { kinds: [INSTANCE_CREATED, INSTANCE_GRANTED] }) { nodes {
        subject { id } actor { ... on ApiKeyActor { apiKey { id } } } } } }`
    await ask(key, query(1))
    const count = async (first: number) => {
      const statements = await captureQueries(async () => {
        expect((await ask(key, query(first))).events.nodes).toHaveLength(first)
      })
      return statements.length
    }
    expect(await count(20)).toBe(await count(1))
  })
})

describe('a page of events', () => {
  it('reads two columns for two fields', async () => {
    const id = await rentals.rent(owner)
    const read = async (query: string) => {
      const statements = await captureQueries(() => ask(owner, query))
      return statements.map(text => /SELECT (e\..*|k\.epoch.*?) FROM (?:kept|events)/.exec(text)?.[1]).filter(Boolean)
    }
    const place = 'k.epoch,k.purged_xid,k.purged_id,k.horizon::text,g.id'
    // The last two are the place for the cursor, and whether there is an event.
    const columns = `${place},e.id,e.kind,e.created_at,e.xid::text,e.id`
    expect(await read('{ events { nodes { kind createdAt } } }')).toEqual([columns])
    expect(await read(`{ instance(id: ${id}) { events { edges { node { kind createdAt } } } } }`)).toEqual([columns])
    const [eventId] = idsOf(await page(owner))
    expect(await read(`{ node(id: "${eventId}") { ... on Event { kind createdAt } } }`)).toEqual([
      'e.id,e.kind,e.created_at',
    ])
  })
})

describe('the history of an instance', () => {
  const fields = 'id events { nodes { id kind subject { id } } pageInfo { endCursor } }'

  it('takes as many statements for 20 instances as for one', async () => {
    const count = async (rentedBefore: number, rows: number) => {
      const key = await app.newKey(null, { creditNanos: 1_000_000_000_000n })
      for (let index = 0; index < rentedBefore; index += 1) await rentals.rent(key)
      await ask(key, '{ viewer { account { id } } }')
      const statements = await captureQueries(async () => {
        const { instances } = await ask(key, `{ instances(first: ${rows}) { nodes { ${fields} } } }`)
        expect(instances.nodes).toHaveLength(rows)
        for (const { id, events } of instances.nodes)
          expect(events.nodes).toMatchObject([
            { kind: 'INSTANCE_CREATED', subject: { id } },
            { kind: 'INSTANCE_GRANTED' },
          ])
      })
      return statements.length
    }
    expect(await count(20, 20)).toBe(await count(1, 1))
  })

  it('has pages of its own when a request reads several instances', async () => {
    const [one, other] = [await rentals.rent(owner), await rentals.rent(owner)]
    const { a, b } = await ask(
      owner,
      `{ a: instance(id: ${one}) { oldest: events(first: 1) { nodes { kind } } newest: events(last: 1) { nodes { kind } } }
        b: instance(id: ${other}) { oldest: events(first: 1) { nodes { kind subjectId } } } }`,
    )
    expect(a).toEqual({
      oldest: { nodes: [{ kind: 'INSTANCE_CREATED' }] },
      newest: { nodes: [{ kind: 'INSTANCE_GRANTED' }] },
    })
    expect(b.oldest.nodes).toEqual([{ kind: 'INSTANCE_CREATED', subjectId: `ins_${other}` }])
  })

  it('needs the permission for this instance', async () => {
    const [one, other] = [await rentals.rent(owner), await rentals.rent(owner)]
    const read = async (instance_read: NonNullable<Permissions['api']['instance_read']>) => {
      const key = await app.newScopedKey(owner, { api: { instance_read } })
      const { data, errors } = await app.graphql(
        key,
        `{ a: instance(id: ${one}) { events { nodes { kind } } } b: instance(id: ${other}) { events { nodes { kind } } } }`,
      )
      return [data.a, data.b, errors?.map(({ extensions }) => extensions['code'])]
    }
    const found = { events: { nodes: [{ kind: 'INSTANCE_CREATED' }, { kind: 'INSTANCE_GRANTED' }] } }
    const refused = { events: null }
    expect(await read({ 'instances.get': {} })).toEqual([refused, refused, ['FORBIDDEN', 'FORBIDDEN']])
    const bound = { constraints: { id: { eq: one } } }
    expect(await read({ 'instances.get': {}, 'instances.events': bound })).toEqual([found, refused, ['FORBIDDEN']])
    expect(await read({ 'instances.get': {}, 'instances.events': {} })).toEqual([found, found, undefined])
  })
})
