// The public templates of an account that an operator has disabled.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let creator: string
let other: string
/** The creator's instance, and the other account's, both from the template. */
let own: number
let rented: number
let template: { id: string; hashId: string }
const email = 'renter-1@example.com'

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  creator = await app.newKey(null, someCredit)
  other = await app.newKey(null, someCredit)
  const query = `mutation { createTemplate(input: { name: "shared", image: "ubuntu", public: true }) {
    ... on CreateTemplateSuccess { template { id hashId } } } }`
  template = (await app.graphql(creator, query)).data.createTemplate.template
  own = await rentals.rentToStatus(creator, 'running', { image: '', template_hash_id: template.hashId })
  rented = await rentals.rentToStatus(other, 'running', { image: '', template_hash_id: template.hashId })
})

afterAll(() => app.close())

const disable = () => app.operations.accounts.disable(email, { reason: 'Fraud.', keepInstances: true })

/** What another account sees of the template. */
async function seenByOther() {
  const query = `query ($id: ID!, $hash: String!) {
    templates(first: 9) { totalCount nodes { id } }
    public: templates(first: 9, filter: { public: true, mine: false }) { totalCount nodes { id } }
    byId: template(by: { id: $id }) { id } byHash: template(by: { hashId: $hash }) { id } node(id: $id) { id }
    instance(id: ${rented}) { status template { id } } }`
  const { data } = await app.graphql(other, query, { id: template.id, hash: template.hashId })
  const pages = ['/api/v0/template/', '/api/v1/template/'].map(path => app.rest(other, 'GET', path))
  return { ...data, rest: (await Promise.all(pages)).map(({ body }) => body.templates_found) }
}

async function tryRentByOther(by: object) {
  const variables = { offer: String(await rentals.newOffer()), by }
  const query = `mutation ($offer: ID!, $by: TemplateByInput!) { rentInstance(input: { offerId: $offer,
    spec: { source: { template: { by: $by } } } }) { __typename ... on Error { code message } } }`
  return (await app.graphql(other, query, variables)).data.rentInstance
}
const rentOverRest = () => rentals.tryRent(other, { template_hash_id: template.hashId })

const listed = { totalCount: 1, nodes: [{ id: 'tpl_1' }] }
const none = { totalCount: 0, nodes: [] }
const found = { id: 'tpl_1' }

describe('while it is disabled, to other accounts', () => {
  beforeAll(disable)

  it('are in no list, and found by no id or hash', async () => {
    expect(await seenByOther()).toEqual({
      ...{ templates: none, public: none, byId: null, byHash: null, node: null, rest: [0, 0] },
      instance: { status: 'RUNNING', template: null },
    })
  })

  it('cannot be rented with', async () => {
    const gone = { __typename: 'NotFoundError', code: 'NOT_FOUND' }
    expect(await tryRentByOther({ id: template.id })).toEqual({ ...gone, message: 'Template tpl_1 not found.' })
    const byHash = { ...gone, message: `Template ${template.hashId} not found.` }
    expect(await tryRentByOther({ hashId: template.hashId })).toEqual(byHash)
    expect((await rentOverRest()).status).toBe(404)
  })

  it('change no instance that was rented with them', async () => {
    await rentals.converge()
    for (const id of [own, rented])
      expect((await app.operations.instances.byId(BigInt(id))).instance.status).toBe('running')
  })
})

it('are as before once it is enabled', async () => {
  await app.operations.accounts.enable(email)
  expect(await seenByOther()).toEqual({
    ...{ templates: listed, public: listed, byId: found, byHash: found, node: found, rest: [1, 1] },
    instance: { status: 'RUNNING', template: found },
  })
  expect(await tryRentByOther({ id: template.id })).toEqual({ __typename: 'RentInstanceSuccess' })
  expect((await rentOverRest()).status).toBe(200)
})

it('are listed and counted with one statement each', async () => {
  const list = '{ templates(first: 9) { nodes { id name } } }'
  const counted = '{ templates(first: 9) { totalCount nodes { id name } } }'
  expect(await captureQueries(() => app.graphql(other, list))).toHaveLength(1)
  expect(await captureQueries(() => app.graphql(other, counted))).toHaveLength(2)
})
