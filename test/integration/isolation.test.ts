// Nobody reaches what is another's, or does what his key does not allow, by any field or route that takes an id.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Operation, operations, permissionCategories } from '../../src/domain/permissions.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { fieldsWithIds, routesWithIds } from '../support/ids.ts'
import { type Rentals, rentalsOf, someCredit } from '../support/rentals.ts'
import { templatesOf } from '../support/templates.ts'

let app: TestApp
let rentals: Rentals
let templates: ReturnType<typeof templatesOf>
let owner: string
let stranger: string

beforeAll(async () => {
  app = await startApp()
  // Ids that are nothing else in an answer.
  await app.sql('ALTER SEQUENCE instances_id_seq RESTART 5000001')
  await app.sql('ALTER SEQUENCE offers_id_seq RESTART 7000001')
  await app.sql('ALTER SEQUENCE templates_id_seq RESTART 6000001')
  rentals = rentalsOf(app)
  templates = templatesOf(app)
  owner = await app.newKey(null, someCredit)
  stranger = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const noSuchId = 987_654_321

type Case = {
  /** What the key must be allowed, and the parameter of it that is this id. Without one a constraint refuses all. */
  operation: Operation
  parameter?: 'id' | 'offerId'
  /** Whose id it is. Offers and machines are everybody's, until they are rented. */
  of: 'instance' | 'offer' | 'machine' | 'template'
  ask: (key: string, id: number) => Promise<{ status: number; [more: string]: unknown }>
}

const graphql =
  (query: (id: number) => string): Case['ask'] =>
  async (key, id) => {
    const { status, data, errors } = await app.graphql(key, query(id))
    return { status, data, errors }
  }
const rest =
  (method: string, path: string, body?: (id: number) => object): Case['ask'] =>
  async (key, id) => {
    const answer = await app.rest(key, method, path.replace('{id}', String(id)), body?.(id))
    return { status: answer.status, body: answer.body }
  }

const refused = '__typename ... on Error { code message }'
const offer = { operation: 'instances.rent', parameter: 'offerId', of: 'offer' } as const
const instance = (operation: Operation) => ({ operation, parameter: 'id', of: 'instance' }) as const
const template = (operation: Operation) => ({ operation, parameter: 'id', of: 'template' }) as const
const update = '... on BulkInstancesPayload { items { outcome instance { id } error { code message } } }'

const fields: Record<string, Case> = {
  instance: { ...instance('instances.get'), ask: graphql(id => `{ instance(id: "${id}") { id label } }`) },
  instances: {
    operation: 'instances.list',
    of: 'instance',
    ask: graphql(id => `{ instances(filter: { ids: ["${id}"] }) { totalCount nodes { id } } }`),
  },
  node: {
    ...instance('instances.get'),
    ask: graphql(id => `{ node(id: "ins_${id}") { id ... on Instance { label } } }`),
  },
  nodes: { ...instance('instances.get'), ask: graphql(id => `{ nodes(ids: ["ins_${id}"]) { id } }`) },
  offer: { operation: 'offers.get', of: 'offer', ask: graphql(id => `{ offer(id: "${id}") { id rentable } }`) },
  offers: {
    operation: 'offers.search',
    of: 'machine',
    ask: graphql(id => `{ offers(filter: { machineId: "${id}" }) { nodes { id } } }`),
  },
  rentInstance: {
    ...offer,
    ask: graphql(
      id => `mutation { rentInstance(input: { offerId: "${id}", spec: { source: { image: "ubuntu" } } }) {
        ${refused} ... on OfferUnavailableError { yourInstance { id } } } }`,
    ),
  },
  updateInstance: {
    ...instance('instances.update'),
    ask: graphql(id => `mutation { updateInstance(input: { id: "${id}", label: "taken" }) { ${refused} } }`),
  },
  updateInstances: {
    ...instance('instances.update'),
    ask: graphql(
      id => `mutation { updateInstances(input: { ids: ["${id}"], targetState: STOPPED }) { ${refused} ${update} } }`,
    ),
  },
  destroyInstances: {
    ...instance('instances.destroy'),
    ask: graphql(id => `mutation { destroyInstances(input: { ids: ["${id}"] }) { ${refused} ${update} } }`),
  },
  template: { ...template('templates.get'), ask: graphql(id => `{ template(id: "${id}") { id name } }`) },
  saveTemplate: {
    ...template('templates.save'),
    ask: graphql(id => `mutation { saveTemplate(input: { id: "${id}", name: "taken", image: "a" }) { ${refused} } }`),
  },
  deleteTemplate: {
    ...template('templates.delete'),
    ask: graphql(id => `mutation { deleteTemplate(input: { id: "${id}" }) { ${refused} } }`),
  },
}

const path = '/api/v0/instances/{id}/'
const restCases: Record<string, Case> = {
  'PUT /api/v0/asks/{id}/': { ...offer, ask: rest('PUT', '/asks/{id}/', () => ({ image: 'ubuntu' })) },
  'POST /api/v0/asks/{id}/': { ...offer, ask: rest('POST', '/asks/{id}/', () => ({ image: 'ubuntu' })) },
  [`GET ${path}`]: { ...instance('instances.get'), ask: rest('GET', '/instances/{id}/') },
  [`PUT ${path}`]: {
    ...instance('instances.update'),
    ask: rest('PUT', '/instances/{id}/', () => ({ label: 'taken' })),
  },
  [`DELETE ${path}`]: { ...instance('instances.destroy'), ask: rest('DELETE', '/instances/{id}/') },
  'PUT /api/v0/instances/': {
    ...instance('instances.update'),
    ask: rest('PUT', '/instances/', id => ({ ids: [id], state: 'stopped' })),
  },
}

const cases = Object.entries({ ...fields, ...restCases })

it('is asked of every field and of every route that takes an id', () => {
  expect(Object.keys(fields).toSorted()).toEqual(fieldsWithIds().toSorted())
  expect(Object.keys(restCases).toSorted()).toEqual(routesWithIds().toSorted())
})

/** Everything that a command could change. */
async function world(): Promise<unknown> {
  return await app.sql(`SELECT (SELECT json_agg(to_jsonb(i) ORDER BY id) FROM instances i) AS instances,
    (SELECT json_agg(to_jsonb(t) ORDER BY id) FROM templates t) AS templates, (SELECT count(*) FROM events) AS events, (SELECT json_agg(to_jsonb(g) ORDER BY machine_id, index) FROM gpus g) AS gpus,
    (SELECT json_agg(to_jsonb(o) ORDER BY id) FROM offers o WHERE withdrawn_at IS NULL) AS offers`)
}

/** What a case is about, of an account's own. */
async function subject({ of }: Case, key: string): Promise<number> {
  if (of === 'instance') return await rentals.rent(key)
  if (of === 'template') return Number((await templates.saved(key, { name: crypto.randomUUID() })).id.slice(4))
  const offerId = await rentals.newOffer()
  if (of === 'offer') return offerId
  const [row] = await app.sql(`SELECT machine_id FROM offers WHERE id = ${offerId}`)
  return (row as { machine_id: number }).machine_id
}

/** An answer of GraphQL that could have been null has another status. */
function isRefused(answer: { status: number; [more: string]: unknown }): boolean {
  const forbidden = JSON.stringify(answer).toLowerCase().includes('"forbidden"')
  return 'body' in answer ? forbidden && answer.status === 403 : forbidden
}

describe("another account's id", () => {
  const owned = cases.filter(([, { of }]) => of !== 'machine')

  it.each(owned)('in %s looks exactly like an id that does not exist', async (_name, given) => {
    const { of, ask } = given
    const rented = await rentals.newOffer()
    const { body } = await app.rest(owner, 'PUT', `/asks/${rented}/`, { image: 'ubuntu', label: 'mine' })
    const made = of === 'template' ? await subject(given, owner) : body.new_contract
    const id = of === 'offer' ? rented : made
    const before = await world()
    const answer = async (of: number) => JSON.stringify(await ask(stranger, of)).replaceAll(String(of), 'ID')
    expect(await answer(id)).toBe(await answer(noSuchId))
    expect(await world()).toEqual(before)
  })

  it('beside one of its own in a bulk update is not found, while its own is changed', async () => {
    const [mine, foreign] = [await rentals.rent(stranger), await rentals.rent(owner)]
    const { body } = await app.rest(stranger, 'PUT', '/instances/', { ids: [foreign, mine], state: 'stopped' })
    expect(body).toEqual({ success: true })
    const targets = [await rentals.read(stranger, mine), await rentals.read(owner, foreign)]
    expect(targets.map(row => row.intended_status)).toEqual(['stopped', 'running'])
  })

  it('is in no list', async () => {
    const foreign = await rentals.rent(owner)
    const { body } = await app.rest(stranger, 'GET', '/instances/')
    const { data } = await app.graphql(stranger, '{ instances(first: 100) { nodes { id } } }')
    expect(JSON.stringify([body, data])).not.toContain(String(foreign))
  })

  it('of an account is null', async () => {
    const ids = ['acc_1', 'acc_2', 'acc_3', 'acc_987654']
    const { data } = await app.graphql(stranger, 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } viewer { id } }', {
      ids,
    })
    expect(data.nodes).toEqual(ids.map(id => (id === data.viewer.id ? { id } : null)))
  })
})

describe('a key without the permission', () => {
  it.each(cases)('for %s is refused, and nothing changes', async (_name, given) => {
    const category = operations[given.operation]
    const others = permissionCategories.filter(name => name !== category)
    const key = await app.scopedKey(owner, { api: Object.fromEntries(others.map(name => [name, {}])) })
    const id = await subject(given, owner)
    const before = await world()
    const answer = await given.ask(key, id)
    expect(isRefused(answer)).toBe(true)
    expect(JSON.stringify(answer)).toContain(category)
    expect(await world()).toEqual(before)
  })
})

describe('a key that is bound to one id', () => {
  const bound = (operation: Operation, parameter: string, id: number) => ({
    api: { instance_read: {}, [operations[operation]]: { [operation]: { constraints: { [parameter]: { eq: id } } } } },
  })

  it.each(cases.filter(([, { parameter }]) => parameter))('may do %s to that one alone', async (_name, given) => {
    const [one, other] = [await subject(given, owner), await subject(given, owner)]
    const key = await app.scopedKey(owner, bound(given.operation, given.parameter as string, one))
    const before = await world()
    const denied = await given.ask(key, other)
    expect(isRefused(denied)).toBe(true)
    expect(await world()).toEqual(before)
    const allowed = await given.ask(key, one)
    expect([allowed.status, isRefused(allowed)]).toEqual([200, false])
  })

  it.each(cases.filter(([, { parameter }]) => !parameter))('may not do %s, which names no id', async (_name, given) => {
    const id = await subject(given, owner)
    const answer = await given.ask(await app.scopedKey(owner, bound(given.operation, 'id', id)), id)
    expect(isRefused(answer)).toBe(true)
  })

  it('may not do anything in bulk that names another beside it', async () => {
    const [one, other] = [await rentals.rent(owner), await rentals.rent(owner)]
    const key = await app.scopedKey(owner, bound('instances.update', 'id', one))
    const before = await world()
    expect(await app.rest(key, 'PUT', '/instances/', { ids: [one, other], state: 'stopped' })).toMatchObject({
      status: 403,
    })
    expect(await world()).toEqual(before)
  })

  it.each([
    ['two fields', (a: number, b: number) => `{ a: instance(id: ${a}) { id } b: instance(id: ${b}) { id } }`],
    ['nodes', (a: number, b: number) => `{ nodes(ids: ["ins_${a}", "ins_${b}"]) { id } }`],
  ])('reads it also when %s ask for another in the same request', async (_name, query) => {
    const [one, other] = [await rentals.rent(owner), await rentals.rent(owner)]
    const key = await app.scopedKey(owner, bound('instances.get', 'id', one))
    const { data, errors } = await app.graphql(key, query(one, other))
    expect(data.nodes ?? [data.a, data.b]).toEqual([{ id: `ins_${one}` }, null])
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
  })
})

describe('a key that may write and not read', () => {
  it('rents, and is told so', async () => {
    const key = await app.scopedKey(owner, { api: { instance_write: {} } })
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
