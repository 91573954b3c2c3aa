// Every operation that both faces have reads the same through either, or leaves the same behind.

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

it('is asked of every operation that both have', () => {
  expect(Object.keys(agreements).toSorted()).toEqual(listSharedOperations().toSorted())
})

type ReadAgreement = Extract<Agreement, { reads: true }>
const all = Object.entries(agreements)
const readAgreements = all.filter((given): given is [string, ReadAgreement] => given[1].reads === true)
const changes = all.filter(([, { reads }]) => !reads)

const newSite = async (): Promise<AgreementSite> => ({ app, rentals, key: await app.newKey(null, someCredit) })

/** All that an account has and what has happened to it, but for what sets two of them apart. */
async function readAccountState({ key }: AgreementSite, account: number): Promise<unknown> {
  await app.runUntilIdle()
  const [row] = await app.sql(`SELECT
    (SELECT json_agg(json_build_array(launch, label, disk_mb, interruptible, compute_nanos, disk_nanos, target_state, status,
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
    (SELECT json_agg(json_build_array(name, size_mb, storage_nanos, disk_nanos, deleted_at) ORDER BY id)
      FROM volumes WHERE account_id = ${account}) AS volumes,
    (SELECT json_agg(json_build_array(type, reason) ORDER BY id) FROM events WHERE account_id = ${account}) AS events`)
  // Of both accounts the second is made later.
  const text = JSON.stringify(row).replace(/"\d{4}-\d\d-\d\dT[^"]*"/g, '"then"')
  const { status } = await app.rest(key, 'GET', '/users/current')
  return { ...JSON.parse(text), letsIn: status }
}

async function mutate({ key }: AgreementSite, field: string) {
  const { data, errors } = await app.graphql(key, `mutation { ${field} { __typename ... on Error { code message } } }`)
  return { errors, ...(Object.values(data ?? {})[0] as object) }
}

describe('what one face reads the other reads alike', () => {
  it.each(readAgreements)('by %s', async (_operation, { prepare, rest, graphql, normalizeRest, normalizeGraphql }) => {
    const site = await newSite()
    const things = (await prepare?.(site)) ?? {}
    const { status, body } = await app.rest(site.key, ...rest(things, site))
    const { data, errors } = await app.graphql(site.key, graphql(things))
    expect([status, errors]).toEqual([200, undefined])
    const shown = await normalizeRest(body, things, site)
    expect(shown).toEqual(await normalizeGraphql(data, things, site))
    expect(shown).not.toHaveLength(0)
  })
})

describe('what one face does the other does alike', () => {
  it.each(changes)('by %s', async (_operation, { prepare, rest, graphql }) => {
    const left: unknown[] = []
    for (const face of ['rest', 'graphql']) {
      const site = await newSite()
      const { body } = await app.rest(site.key, 'GET', '/users/current')
      const things = (await prepare?.(site)) ?? {}
      const before = await readAccountState(site, body.id)
      if (face === 'rest') {
        expect(await app.rest(site.key, ...rest(things, site))).toMatchObject({ status: 200, body: expect.anything() })
      } else {
        const { errors, ...answer } = await mutate(site, graphql(things))
        expect([errors, answer]).toEqual([undefined, { __typename: expect.not.stringMatching(/Error$/) }])
      }
      const after = await readAccountState(site, body.id)
      expect(after).not.toEqual(before)
      left.push(after)
    }
    expect(left[0]).toEqual(left[1])
  })
})
