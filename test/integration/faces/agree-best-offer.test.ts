// The same launch or command from the same actor has the same result over REST and GraphQL.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { bareIds, type Faces, facesOf, graphqlCodes, messagesOf } from '../../support/faces/faces.ts'
import { listMachines } from '../../support/factories.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let faces: Faces
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  faces = facesOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

/** Each test has a market of its own: earlier machines are in other countries. */
let country = ''
let tests = 0
beforeEach(async () => {
  tests += 1
  country = `${String.fromCharCode(65 + tests)}Z`
  await listMachines(
    app.operations,
    [0.4, 0.4].map(dollars => ({ machine: { country, numGpus: 1, gpuNanos: BigInt(Math.round(dollars * 1e9)) } })),
  )
})

const refusal = '__typename ... on Error { code message } ... on InvalidInputError { issues { message } }'

async function rentBestOfferOnBoth(by: string | undefined, body: object, input: object) {
  const q = { geolocation: { eq: country }, order: [['dph_total', 'asc']] }
  const rest = await app.rest(by, 'PUT', '/launch_instance/', { image: 'ubuntu', q, ...body })
  const query = `mutation ($input: RentBestOfferInput!) { rentBestOffer(input: $input) {
    ... on RentBestOfferSuccess { instance { id } } ${refusal} } }`
  const wanted = { filter: { country: { eq: country } }, spec: { source: { image: 'ubuntu' } }, ...input }
  const { data, errors } = await app.graphql(by, query, {
    input: { terms: { onDemand: { maxPricePerHour: '100' } }, ...wanted },
  })
  const { code, message } = errors?.[0]
    ? { code: errors[0].extensions['code'], message: errors[0].message }
    : data.rentBestOffer
  return { rest, code, message, graphql: data?.rentBestOffer }
}

const spec = { source: { image: 'ubuntu' } }

describe('renting the best offer over REST and GraphQL', () => {
  it.each([
    ['an image alone', {}, {}],
    ['a label and a disk', { label: 'mine', disk: 20 }, { spec: { ...spec, label: 'mine', diskGb: 20 } }],
    ['a bid', { price: 0.3 }, { terms: { interruptible: { bidPerHour: '0.3' } } }],
  ])('leaves the same state behind with %s', async (_name, body, input) => {
    const { rest, graphql } = await rentBestOfferOnBoth(key, body, input)
    expect(rest.status).toBe(200)
    expect(await faces.readInstance(rest.body.new_contract)).toEqual(await faces.readInstance(graphql.instance.id))
  })

  it.each([
    ['a small disk', { disk: 1 }, { spec: { ...spec, diskGb: 1 } }],
    ['a disk larger than any machine has', { disk: 2_000 }, { spec: { ...spec, diskGb: 2_000 } }],
    ['a bid below every minimum', { price: 0.001 }, { terms: { interruptible: { bidPerHour: '0.001' } } }],
    ['a virtual machine without an SSH key', { vm: true }, { spec: { ...spec, kind: 'VM' } }],
    ['a country without offers', { q: { geolocation: { eq: 'XX' } } }, { filter: { country: { eq: 'XX' } } }],
  ])('is refused alike with %s', async (_name, body, input) => {
    const { rest, code, message, graphql } = await rentBestOfferOnBoth(key, body, input)
    // REST has one code for an offer that is gone and for a search without results.
    expect(code === 'NO_OFFER_RENTED' ? 'OFFER_UNAVAILABLE' : code).toBe(graphqlCodes[rest.body.error])
    const issues = graphql.issues?.map((issue: { message: string }) => issue.message).toSorted()
    expect(issues ?? bareIds(message)).toEqual(issues ? messagesOf(rest.body.msg) : rest.body.msg)
  })

  it.each(['no credit', 'no permission to rent', 'no permission to search', 'no key'])(
    'is refused alike with %s',
    async name => {
      const by = {
        'no credit': await app.newKey(),
        'no permission to rent': await app.newScopedKey(key, { api: { misc: {} } }),
        'no permission to search': await app.newScopedKey(key, { api: { instance_write: {} } }),
        'no key': undefined,
      }[name]
      const { rest, code, message } = await rentBestOfferOnBoth(by, {}, {})
      expect([code, bareIds(message)]).toEqual([graphqlCodes[rest.body.error], rest.body.msg])
    },
  )
})

describe('a command over REST and GraphQL', () => {
  const run = async (id: number, command: string) => {
    const rest = await app.rest(key, 'PUT', `/instances/command/${id}/`, { command })
    const { data } = await app.graphql(
      key,
      `mutation ($id: ID!, $command: String!) { executeCommand(input: { id: $id, command: $command }) {
        ... on ExecuteCommandSuccess { output } ${refusal} } }`,
      { id: String(id), command },
    )
    return { rest, graphql: data.executeCommand }
  }

  it('prints the same output', async () => {
    const { rest, graphql } = await run(await rentals.rentToStatus(key, 'running'), 'echo one two')
    const printed = await app.fetch(new Request(rest.body.result_url)).then(answer => answer.text())
    expect(printed).toBe(graphql.output)
    expect(printed).toContain('one two')
  })

  it.each(['created', 'stopped', 'exited'])('is refused alike in an instance that is %s', async status => {
    const { rest, graphql } = await run(await rentals.rentToStatus(key, status), 'ls')
    expect([graphql.code, bareIds(graphql.message)]).toEqual([graphqlCodes[rest.body.error], rest.body.msg])
  })

  it.each([' ', 'x'.repeat(513), 'a\0'])('is refused alike when it is invalid: %j', async command => {
    const { rest, graphql } = await run(await rentals.rent(key), command)
    expect([graphql.code, bareIds(graphql.message)]).toEqual([graphqlCodes[rest.body.error], rest.body.msg])
  })
})
