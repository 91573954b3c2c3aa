// No field or route that takes an id reaches another account's data, or does what the key does not allow.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Operation,
  operationCategories,
  permissionCategories,
} from '../../../src/domain/accounts/permissions/permissions.ts'
import { categoryName } from '../../../src/graphql/accounts/operation-names.ts'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { fieldCases, knownSshKeyId, makersOf, routeCases } from '../../support/faces/isolation.ts'
import { fieldsWithIds, routesWithIds } from '../../support/fields-with-ids.ts'
import { muchCredit, type Rentals, rentalsOf } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let make: ReturnType<typeof makersOf>
let owner: string
let stranger: string

beforeAll(async () => {
  app = await startApp()
  // High ids cannot be mistaken for another number in an answer.
  await app.sql('ALTER SEQUENCE instances_id_seq RESTART 5000001')
  await app.sql('ALTER SEQUENCE offers_id_seq RESTART 7000001')
  await app.sql('ALTER SEQUENCE volumes_id_seq RESTART 8000001')
  await app.sql('ALTER SEQUENCE ssh_keys_id_seq RESTART 9000001')
  await app.sql('ALTER SEQUENCE api_keys_id_seq RESTART 8500001')
  await app.sql('ALTER SEQUENCE templates_id_seq RESTART 6000001')
  await app.sql('ALTER SEQUENCE webhooks_id_seq RESTART 6500001')
  await app.sql('ALTER SEQUENCE spend_limits_id_seq RESTART 9500001')
  rentals = rentalsOf(app)
  make = makersOf(app, rentals)
  owner = await app.newKey(null, muchCredit)
  stranger = await app.newKey(null, muchCredit)
  const { body } = await app.rest(owner, 'POST', '/ssh/', { ssh_key: aPublicKey('known') })
  expect(body.key.id).toBe(knownSshKeyId)
})

afterAll(() => app.close())

const noSuchId = 987_654_321

const cases = Object.entries({ ...fieldCases, ...routeCases })

it('covers every field and every route that takes an id', () => {
  expect(Object.keys(fieldCases).toSorted()).toEqual(fieldsWithIds().toSorted())
  expect(Object.keys(routeCases).toSorted()).toEqual(routesWithIds().toSorted())
})

/** All rows that a command could change. */
async function readAllTables(): Promise<unknown> {
  return await app.sql(`SELECT (SELECT json_agg(to_jsonb(i) ORDER BY id) FROM instances i) AS instances,
    (SELECT json_agg(to_jsonb(k) - 'last_used_at' ORDER BY id) FROM api_keys k) AS keys,
    (SELECT count(*) FROM events) AS events, (SELECT json_agg(to_jsonb(g) ORDER BY machine_id, index) FROM gpus g) AS gpus,
    (SELECT json_agg(to_jsonb(t) ORDER BY id) FROM templates t) AS templates,
    (SELECT json_agg(to_jsonb(v) ORDER BY id) FROM volumes v) AS volumes,
    (SELECT json_agg(to_jsonb(l) ORDER BY id) FROM spend_limits l) AS spend_limits,
    (SELECT json_agg(to_jsonb(k) ORDER BY id) FROM ssh_keys k) AS ssh_keys,
    (SELECT json_agg(to_jsonb(w) ORDER BY id) FROM webhooks w) AS webhooks,
    (SELECT json_agg(to_jsonb(d) ORDER BY id) FROM webhook_deliveries d) AS webhook_deliveries,
    (SELECT json_agg(to_jsonb(a) ORDER BY instance_id, ssh_key_id) FROM instance_ssh_keys a) AS instance_ssh_keys,
    (SELECT json_agg(to_jsonb(o) ORDER BY id) FROM offers o WHERE withdrawn_at IS NULL) AS offers`)
}

/** Rents a new offer and returns its id. */
async function rentNewOffer(key: string): Promise<number> {
  const offerId = await rentals.newOffer()
  await app.rest(key, 'PUT', `/asks/${offerId}/`, { image: 'ubuntu', label: 'mine' })
  return offerId
}

/** A REST refusal has the status 403. In GraphQL the status depends on the field, so only the code counts. */
function isRefused(answer: { status: number; [more: string]: unknown }): boolean {
  const forbidden = JSON.stringify(answer).toLowerCase().includes('"forbidden"')
  return 'body' in answer ? forbidden && answer.status === 403 : forbidden
}

describe("another account's id", () => {
  const owned = cases.filter(([, { of }]) => of !== 'machine')

  it.each(owned)('looks exactly like an unknown id in %s', async (_name, { of, ask }) => {
    const id = await (of === 'offer' ? rentNewOffer(owner) : make[of](owner))
    const before = await readAllTables()
    const answer = async (of: number) => JSON.stringify(await ask(app, stranger, of)).replaceAll(String(of), 'ID')
    expect(await answer(id)).toBe(await answer(noSuchId))
    expect(await readAllTables()).toEqual(before)
  })

  it('is not found in a bulk update, while an id of the caller is changed', async () => {
    const [mine, foreign] = [await rentals.rent(stranger), await rentals.rent(owner)]
    const { body } = await app.rest(stranger, 'PUT', '/instances/', { ids: [foreign, mine], state: 'stopped' })
    expect(body).toEqual({ success: true })
    const targets = [await rentals.read(stranger, mine), await rentals.read(owner, foreign)]
    expect(targets.map(row => row.intended_status)).toEqual(['stopped', 'running'])
  })

  it('appears in no list', async () => {
    const foreign = await rentals.rent(owner)
    const { body } = await app.rest(stranger, 'GET', '/instances/')
    const { data } = await app.graphql(stranger, '{ instances(first: 100) { nodes { id } } }')
    expect(JSON.stringify([body, data])).not.toContain(String(foreign))
  })

  it('resolves to null when it is an account id', async () => {
    const ids = ['acc_1', 'acc_2', 'acc_3', 'acc_987654']
    const { data } = await app.graphql(
      stranger,
      'query ($ids: [ID!]!) { nodes(ids: $ids) { id } viewer { account { id } } }',
      {
        ids,
      },
    )
    expect(data.nodes).toEqual(ids.map(id => (id === data.viewer.account.id ? { id } : null)))
  })
})

describe('a key without the permission', () => {
  it.each(cases)('is refused by %s and changes nothing', async (_name, given) => {
    const category = operationCategories[given.operation]
    const others = permissionCategories.filter(name => name !== category)
    const key = await app.newScopedKey(owner, { api: Object.fromEntries(others.map(name => [name, {}])) })
    const id = await make[given.of](owner)
    const before = await readAllTables()
    const answer = await given.ask(app, key, id)
    expect(isRefused(answer)).toBe(true)
    expect(JSON.stringify(answer)).toMatch(new RegExp(`${category}|${categoryName(category)}`))
    expect(await readAllTables()).toEqual(before)
  })
})

describe('a key restricted to one id', () => {
  const bound = (operation: Operation, parameter: string, id: number) => ({
    api: {
      instance_read: {},
      [operationCategories[operation]]: { [operation]: { constraints: { [parameter]: { eq: id } } } },
    },
  })

  it.each(cases.filter(([, { parameter }]) => parameter))('may use %s for that id only', async (_name, given) => {
    const [one, other] = [await make[given.of](owner), await make[given.of](owner)]
    const key = await app.newScopedKey(owner, bound(given.operation, given.parameter as string, one))
    const before = await readAllTables()
    const denied = await given.ask(app, key, other)
    expect(isRefused(denied)).toBe(true)
    expect(await readAllTables()).toEqual(before)
    const allowed = await given.ask(app, key, one)
    // 501 is the answer to an operation that Berth does not offer.
    expect([[200, 501].includes(allowed.status), isRefused(allowed)]).toEqual([true, false])
  })

  it.each(cases.filter(([, { parameter }]) => !parameter))(
    'may not use %s, which has no id to match',
    async (_name, given) => {
      const id = await make[given.of](owner)
      const answer = await given.ask(app, await app.newScopedKey(owner, bound(given.operation, 'id', id)), id)
      expect(isRefused(answer)).toBe(true)
    },
  )

  it('may not use a bulk update that names another id too', async () => {
    const [one, other] = [await rentals.rent(owner), await rentals.rent(owner)]
    const key = await app.newScopedKey(owner, bound('instances.update', 'id', one))
    const before = await readAllTables()
    expect(await app.rest(key, 'PUT', '/instances/', { ids: [one, other], state: 'stopped' })).toMatchObject({
      status: 403,
    })
    expect(await readAllTables()).toEqual(before)
  })

  it.each([
    ['two fields', (a: number, b: number) => `{ a: instance(id: ${a}) { id } b: instance(id: ${b}) { id } }`],
    ['nodes', (a: number, b: number) => `{ nodes(ids: ["ins_${a}", "ins_${b}"]) { id } }`],
  ])('reads its instance even when %s request another instance in the same operation', async (_name, query) => {
    const [one, other] = [await rentals.rent(owner), await rentals.rent(owner)]
    const key = await app.newScopedKey(owner, bound('instances.get', 'id', one))
    const { data, errors } = await app.graphql(key, query(one, other))
    expect(data.nodes ?? [data.a, data.b]).toEqual([{ id: `ins_${one}` }, null])
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
  })
})

describe('a key with write but without read permission', () => {
  it.each([true, false])('sees the instance that it changed, with relabels constrained to %s', async eq => {
    const id = await rentals.rent(owner)
    const constraints = { id: { eq: id }, relabels: { eq } }
    const key = await app.newScopedKey(owner, { api: { instance_write: { 'instances.update': { constraints } } } })
    const ask = (verb: 'Update' | 'Stop', change: string) =>
      app.graphql(
        key,
        `mutation { answer: ${verb.toLowerCase()}Instance(input: { id: "${id}"${change} }) {
          ... on ${verb}InstanceSuccess { instance { label targetState } } } }`,
      )
    const [labeled, stopped] = [await ask('Update', ', label: "new"'), await ask('Stop', '')]
    const refused = (eq ? stopped : labeled).errors
    expect(refused).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
    const { instance } = (eq ? labeled : stopped).data.answer
    expect(instance).toEqual(eq ? { label: 'new', targetState: 'RUNNING' } : { label: null, targetState: 'STOPPED' })
  })

  it('only stops instances if it may neither start nor relabel them', async () => {
    const id = await rentals.rent(owner)
    const constraints = { relabels: { eq: false }, starts: { eq: false } }
    const key = await app.newScopedKey(owner, { api: { instance_write: { 'instances.update': { constraints } } } })
    const ask = async (field: string, input: string) => {
      const type = `${field[0]?.toUpperCase()}${field.slice(1)}Success`
      const { data, errors } = await app.graphql(
        key,
        `mutation { answer: ${field}(input: { ${input} }) { __typename ... on ${type} { ${field.endsWith('s') ? 'items { instance { targetState } }' : 'instance { targetState }'} } } }`,
      )
      return errors?.[0]?.extensions['code'] ?? data.answer
    }
    const stopped = { targetState: 'STOPPED' }
    expect([
      await ask('stopInstance', `id: ${id}`),
      await ask('stopInstances', `target: { ids: [${id}] }`),
      await ask('startInstance', `id: ${id}`),
      await ask('startInstances', `target: { ids: [${id}] }`),
      await ask('updateInstance', `id: ${id}, label: "x"`),
    ]).toMatchObject([{ instance: stopped }, { items: [{ instance: stopped }] }, 'FORBIDDEN', 'FORBIDDEN', 'FORBIDDEN'])
    const { status } = await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'running' })
    expect(status).toBe(403)
  })

  it('receives the instance that it rented', async () => {
    const key = await app.newScopedKey(owner, { api: { instance_write: {} } })
    const offerId = await rentals.newOffer()
    const { data, errors } = await app.graphql(
      key,
      `mutation { rentInstance(input: { offerId: "${offerId}", spec: { source: { image: "ubuntu" } } }) {
        ... on RentInstanceSuccess { instance { id } } } }`,
    )
    const [row] = await app.sql(`SELECT id FROM instances WHERE offer_id = ${offerId}`)
    expect([data, errors]).toEqual([
      { rentInstance: { instance: { id: `ins_${(row as { id: string }).id}` } } },
      undefined,
    ])
  })
})
