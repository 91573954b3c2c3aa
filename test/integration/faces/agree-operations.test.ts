// Every operation that both faces offer returns the same data, or leaves the same state behind, over either face.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Agreement, type AgreementSite, agreements, listSharedOperations } from '../../support/faces/agreements.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
})

afterAll(() => app.close())

it('covers every operation that both faces offer', () => {
  expect(Object.keys(agreements).toSorted()).toEqual(listSharedOperations().toSorted())
})

type ReadAgreement = Extract<Agreement, { reads: true }>
const all = Object.entries(agreements)
const readAgreements = all.filter((given): given is [string, ReadAgreement] => given[1].reads === true)
const changes = all.filter(([, { reads }]) => !reads)

const newSite = async (): Promise<AgreementSite> => ({ app, rentals, key: await app.newKey(null, someCredit) })

/** Everything an account has and its events, without the values that differ between equal accounts. */
async function readAccountState({ key }: AgreementSite, account: number): Promise<unknown> {
  await app.runUntilIdle()
  const [row] = await app.sql(`SELECT
    (SELECT json_agg(json_build_array(launch, label, disk_mb, interruptible, gpu_price_nanos, disk_nanos, target_state, status,
      reason_code, destroyed_at, restart, (SELECT count(*) FROM gpus g WHERE g.holder_id = i.id),
      (SELECT count(*) FROM instance_ssh_keys a WHERE a.instance_id = i.id)) ORDER BY id)
      FROM instances i WHERE account_id = ${account}) AS instances,
    (SELECT json_agg(json_build_array(name, public_key, deleted_at) ORDER BY id)
      FROM ssh_keys WHERE account_id = ${account}) AS ssh_keys,
    (SELECT json_agg(json_build_array(name, permissions, revoked_at, expires_at) ORDER BY id)
      FROM api_keys WHERE account_id = ${account}) AS api_keys,
    (SELECT json_agg(name ORDER BY name) FROM secret_variables WHERE account_id = ${account}) AS secret_variables,
    (SELECT json_agg(json_build_array(name, public, settings, deleted_at) ORDER BY id)
      FROM templates WHERE account_id = ${account}) AS templates,
    (SELECT json_agg(json_build_array(name, size_mb, disk_price_per_gb_month_nanos, disk_nanos, deleted_at) ORDER BY id)
      FROM volumes WHERE account_id = ${account}) AS volumes,
    (SELECT json_agg(json_build_array(kind, reason) ORDER BY id) FROM events WHERE account_id = ${account}) AS events`)
  // The second account is created later, so all instants are replaced.
  const text = JSON.stringify(row).replace(/"\d{4}-\d\d-\d\dT[^"]*"/g, '"then"')
  const { status } = await app.rest(key, 'GET', '/users/current')
  return { ...JSON.parse(text), letsIn: status }
}

async function mutate({ key }: AgreementSite, field: string) {
  const { data, errors } = await app.graphql(key, `mutation { ${field} { __typename ... on Error { code message } } }`)
  return { errors, ...(Object.values(data ?? {})[0] as object) }
}

describe('a read', () => {
  it.each(readAgreements)(
    'returns the same data over REST and GraphQL: %s',
    async (_operation, { prepare, rest, graphql, normalizeRest, normalizeGraphql }) => {
      const site = await newSite()
      const ids = (await prepare?.(site)) ?? {}
      const { status, body } = await app.rest(site.key, ...rest(ids, site))
      const { data, errors } = await app.graphql(site.key, graphql(ids))
      expect([status, errors]).toEqual([200, undefined])
      const shown = await normalizeRest(body, ids, site)
      expect(shown).toEqual(await normalizeGraphql(data, ids, site))
      expect(shown).not.toHaveLength(0)
    },
  )
})

describe('a change', () => {
  it.each(changes)(
    'leaves the same state behind over REST and GraphQL: %s',
    async (_operation, { prepare, rest, graphql }) => {
      const states: unknown[] = []
      for (const face of ['rest', 'graphql']) {
        const site = await newSite()
        const { body } = await app.rest(site.key, 'GET', '/users/current')
        const ids = (await prepare?.(site)) ?? {}
        const before = await readAccountState(site, body.id)
        if (face === 'rest') {
          expect(await app.rest(site.key, ...rest(ids, site))).toMatchObject({ status: 200, body: expect.anything() })
        } else {
          const { errors, ...answer } = await mutate(site, graphql(ids))
          expect([errors, answer]).toEqual([undefined, { __typename: expect.not.stringMatching(/Error$/) }])
        }
        const after = await readAccountState(site, body.id)
        expect(after).not.toEqual(before)
        states.push(after)
      }
      expect(states[0]).toEqual(states[1])
    },
  )
})
