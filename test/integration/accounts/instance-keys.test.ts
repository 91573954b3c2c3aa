// Each instance has its own key. The key can start, stop and destroy its instance, and do nothing else.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { routes } from '../../../src/rest/routes.ts'
import { instanceApiKey } from '../../../src/services/accounts/api-keys/identity.ts'
import type { InstanceLease } from '../../../src/services/reconciliation/leases.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { sampleOperations } from '../../support/faces/samples.ts'
import { openGateway } from '../../support/gateways.ts'
import { muchCredit, type Rentals, rentalsOf } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let owner: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  owner = await app.newKey(null, muchCredit)
})

afterAll(() => app.close())

const secrets = createSecrets('a secret of tests')
const keyOf = (id: number) => instanceApiKey(secrets, BigInt(id))
const command = (verb: 'start' | 'stop', id: number) =>
  `mutation { answer: ${verb}Instance(input: { id: "${id}" }) {
    ... on ${verb === 'start' ? 'Start' : 'Stop'}InstanceSuccess { instance { targetState label } } } }`
const destroy = (id: number) => `mutation { destroyInstances(input: { target: { ids: ["${id}"] } }) {
  ... on DestroyInstancesSuccess { items { outcome } } } }`
const statusOf = async (key: string) => (await app.rest(key, 'GET', '/users/current/')).status

describe("an instance's own key", () => {
  it('stops, starts and destroys the instance over GraphQL', async () => {
    const id = await rentals.rent(owner, { label: 'mine' })
    const key = keyOf(id)
    for (const [verb, targetState] of [
      ['stop', 'STOPPED'],
      ['start', 'RUNNING'],
    ] as const) {
      const { data, errors } = await app.graphql(key, command(verb, id))
      expect([data, errors]).toEqual([{ answer: { instance: { targetState, label: 'mine' } } }, undefined])
    }
    const { data } = await app.graphql(key, destroy(id))
    expect(data.destroyInstances.items).toEqual([{ outcome: 'APPLIED' }])
  })

  it('stops, starts and destroys the instance over REST, and is refused once the instance is destroyed', async () => {
    const id = await rentals.rent(owner)
    const key = keyOf(id)
    for (const state of ['stopped', 'running']) {
      const { status, body } = await app.rest(key, 'PUT', `/instances/${id}/`, { state })
      expect([status, body]).toEqual([200, { success: true }])
      expect((await app.rest(key, 'PUT', '/instances/', { ids: [id], state })).body).toEqual({ success: true })
      expect((await rentals.read(owner, id)).intended_status).toBe(state)
    }
    expect(await statusOf(key)).toBe(403)
    expect((await app.rest(key, 'DELETE', `/instances/${id}/`)).body).toEqual({ success: true })
    expect(await statusOf(key)).toBe(401)
    expect((await app.rest(key, 'DELETE', `/instances/${id}/`)).status).toBe(401)
  })

  it('cannot change the label, alone or together with the state', async () => {
    const id = await rentals.rent(owner, { label: 'mine' })
    const key = keyOf(id)
    for (const label of ['"taken"', 'null']) {
      const { errors } = await app.graphql(
        key,
        `mutation { updateInstance(input: { id: "${id}", label: ${label} }) { __typename } }`,
      )
      expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
    }
    expect((await app.rest(key, 'PUT', `/instances/${id}/`, { label: 'taken', state: 'stopped' })).status).toBe(403)
    expect((await app.rest(key, 'PUT', '/instances/', { ids: [id], label: 'taken' })).status).toBe(403)
    expect(await rentals.read(owner, id)).toMatchObject({ label: 'mine', intended_status: 'running' })
  })

  it('is the key that the container gets', async () => {
    const id = await rentals.rent(owner)
    const gateway = openGateway({ url: app.database.url, now: app.clock.now })
    const spec = await gateway.reconciliation.loadSpec({ instanceId: BigInt(id) } as InstanceLease)
    await gateway.close()
    expect([spec.apiKey, await statusOf(spec.apiKey)]).toEqual([keyOf(id), 403])
  })

  describe('when the API key that rented the instance', () => {
    const rentedBy = async (expiresAt?: string) => {
      const { data } = await app.graphql(
        owner,
        `mutation ($at: DateTime) { createApiKey(input: { fullAccess: true, expiresAt: $at }) {
          ... on CreateApiKeySuccess { secret apiKey { id } } } }`,
        { at: expiresAt },
      )
      const { secret, apiKey } = data.createApiKey
      return { id: await rentals.rent(secret), apiKey: apiKey.id as string, secret: secret as string }
    }
    const asks = async (id: number, at = app) => {
      const statuses: number[] = []
      for (const state of ['stopped', 'running'])
        statuses.push((await at.rest(keyOf(id), 'PUT', `/instances/${id}/`, { state })).status)
      return statuses
    }
    const digits = (apiKey: string) => apiKey.replace('key_', '')
    const overGraphql = (apiKey: string, input: string) =>
      app.graphql(owner, `mutation { deleteApiKey(input: { id: "${apiKey}"${input} }) { __typename } }`)
    const overRest = (apiKey: string, query: string) =>
      app.rest(owner, 'DELETE', `/auth/apikeys/${digits(apiKey)}/${query}`)
    const byOperator = async (apiKey: string, options?: { keepInstanceKeys: boolean }) =>
      await app.operations.apiKeys.revoke({ id: Number(digits(apiKey)) }, options)

    it.each<[string, (apiKey: string) => Promise<unknown>]>([
      ['over GraphQL', apiKey => overGraphql(apiKey, '')],
      ['over REST', apiKey => overRest(apiKey, '')],
      ['over REST with "false"', apiKey => overRest(apiKey, '?keep_instance_keys=false')],
      ['by an operator', apiKey => byOperator(apiKey)],
    ])('is revoked %s, is refused on every gateway', async (_what, revoke) => {
      const beside = await startApp({ sharedApp: app })
      const { id, apiKey } = await rentedBy()
      expect(await asks(id, beside)).toEqual([200, 200])
      await revoke(apiKey)
      for (const gateway of [app, beside]) expect(await asks(id, gateway)).toEqual([401, 401])
      expect(JSON.stringify(await app.graphql(keyOf(id), destroy(id)))).toContain('"UNAUTHENTICATED"')
      expect((await rentals.read(owner, id)).intended_status).toBe('running')
      await beside.close()
    })

    it.each<[string, (apiKey: string) => Promise<unknown>]>([
      ['over GraphQL', apiKey => overGraphql(apiKey, ', keepInstanceKeys: true')],
      ['over REST', apiKey => overRest(apiKey, '?keep_instance_keys=true')],
      ['by an operator', apiKey => byOperator(apiKey, { keepInstanceKeys: true })],
    ])('is revoked %s with instance keys kept, still works', async (_what, revoke) => {
      const { id, apiKey, secret } = await rentedBy()
      await revoke(apiKey)
      expect([await statusOf(secret), await asks(id)]).toEqual([401, [200, 200]])
    })

    it('expires, is refused', async () => {
      const { id } = await rentedBy(new Date(app.clock.now().getTime() + 60_000).toISOString())
      expect(await asks(id)).toEqual([200, 200])
      app.clock.advance(60_000)
      expect(await asks(id)).toEqual([401, 401])
    })

    it('revokes itself and keeps instance keys, is refused once that API key would have expired', async () => {
      const { id, apiKey, secret } = await rentedBy(new Date(app.clock.now().getTime() + 60_000).toISOString())
      const path = `/auth/apikeys/${digits(apiKey)}/?keep_instance_keys=true`
      expect((await app.rest(secret, 'DELETE', path)).status).toBe(200)
      expect(await asks(id)).toEqual([200, 200])
      app.clock.advance(60_000)
      expect(await asks(id)).toEqual([401, 401])
    })

    it('gets a new secret, still works', async () => {
      const { id, secret } = await rentedBy()
      await app.rest(secret, 'PUT', '/commands/reset_apikey/', {})
      expect([await statusOf(secret), await asks(id)]).toEqual([401, [200, 200]])
    })
  })

  it('is recorded in the history as the API key that rented the instance', async () => {
    const id = await rentals.rent(owner)
    await app.rest(keyOf(id), 'PUT', `/instances/${id}/`, { state: 'stopped' })
    const rows = await app.sql(`SELECT DISTINCT api_key_id = (SELECT api_key_id FROM instances WHERE id = ${id}) AS same
      FROM events WHERE instance_id = ${id} AND kind IN ('INSTANCE_CREATED', 'INSTANCE_TARGET_CHANGED')`)
    expect(rows).toEqual([{ same: true }])
  })

  it.each([
    ['derived from another secret', (id: number) => instanceApiKey(createSecrets('another'), BigInt(id))],
    ['with the proof of another instance', (id: number) => keyOf(id + 1).replace(`_${id + 1}_`, `_${id}_`)],
    ['with its last digit changed', (id: number) => keyOf(id).replace(/.$/, digit => (digit === '0' ? '1' : '0'))],
    ['with a missing digit', (id: number) => keyOf(id).slice(0, -1)],
    ['in capitals', (id: number) => keyOf(id).replace(/[0-9a-f]{64}$/, proof => proof.toUpperCase())],
    ['with a zero before the id', (id: number) => keyOf(id).replace('_ins_', '_ins_0')],
  ])('is not valid if it is forged or altered: %s', async (_what, forge) => {
    const id = await rentals.rent(owner)
    expect([await statusOf(keyOf(id)), await statusOf(forge(id))]).toEqual([403, 401])
  })

  it('is not valid for an instance that does not exist', async () => {
    expect(await statusOf(keyOf(987_654_321))).toBe(401)
    expect(await statusOf(instanceApiKey(secrets, 999_999_999_999_999_999n))).toBe(401)
  })
})

describe("an instance's own key, used on anything else,", () => {
  // Every caller may read its own limits.
  const fields = sampleOperations('1').flatMap(({ name }) => (name === 'rateLimit' ? [] : [name]))
  const closed = routes.filter(({ open }) => !open)

  it.each(fields)('is refused by the field %s', async name => {
    const [own, other] = [await rentals.rent(owner), await rentals.rent(owner)]
    for (const id of name.startsWith('node') ? [`ins_${own}`, 'off_1', 'acc_1', 'key_1', 'mch_1'] : [`${other}`]) {
      const operation = sampleOperations(id).find(field => field.name === name)?.operation as string
      const { errors } = await app.graphql(keyOf(own), operation)
      expect(errors?.map(({ extensions }) => extensions['code']) ?? operation).toContainEqual(
        expect.stringMatching(/^(FORBIDDEN|NOT_FOUND)$/),
      )
    }
  })

  it.each(closed.map(({ method, path }) => [method, path]))('is refused by %s %s', async (method, path) => {
    const [own, other] = [await rentals.rent(owner), await rentals.rent(owner)]
    const body = method === 'GET' ? undefined : { ids: [other], instance_ids: [other], state: 'stopped' }
    const answer = await app.rest(keyOf(own), method, path.replace(/\{\w+\}/, String(other)), body)
    expect(answer).toMatchObject({ status: 403, body: { error: 'forbidden' } })
  })
})

it("an instance's own key is neither stored nor logged", async () => {
  const id = await rentals.rent(owner)
  await rentals.converge()
  await app.rest(keyOf(id), 'PUT', `/instances/${id}/`, { state: 'stopped' })
  await app.rest(undefined, 'PUT', `/instances/${id}/?api_key=${keyOf(id)}`, { state: 'stopped' })
  await rentals.converge()
  const proof = keyOf(id).split('_')[3] as string
  const tables = await app.sql(
    `SELECT query_to_xml(format('SELECT string_agg(t::text, '' '') FROM %I t', relname), true, false, '') AS xml
     FROM pg_stat_user_tables`,
  )
  const text = tables.map(row => (row as { xml: string }).xml).join('')
  expect(text).toContain('INSTANCE_TARGET_CHANGED')
  expect(text).not.toContain(proof)
  expect(JSON.stringify(app.logLines)).not.toContain(proof)
})
