// Each face speaks of the fields and ids that its callers can use.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

async function update(input: object) {
  const query = `mutation ($input: UpdateInstancesInput!) { updateInstances(input: $input) {
    ... on UpdateInstancesSuccess { succeededCount } ... on Error { code message } } }`
  const { data, errors } = await app.graphql(key, query, { input })
  expect(errors).toBeUndefined()
  return data.updateInstances
}

it('a bulk update of too few or too many instances names the field of GraphQL, and is worded as REST clients know it', async () => {
  expect(await update({ target: { ids: [] }, label: 'a' })).toEqual({
    ...{ code: 'INVALID_INPUT', message: 'target.ids: must name at least one instance.' },
  })
  expect(await update({ target: { ids: Array(1_001).fill('ins_1') }, label: 'a' })).toEqual({
    ...{ code: 'INVALID_INPUT', message: 'target.ids: must have at most 1000 ids, not 1001.' },
  })
  const { body } = await app.rest(key, 'PUT', '/instances/', { ids: Array(65).fill(1), state: 'stopped' })
  expect(body).toEqual({ success: false, error: 'invalid_args', msg: 'chunk length of 65 > 64' })
})

it('an update of nothing asks over GraphQL for the label alone, and over REST for a state or a label', async () => {
  const id = await rentals.rent(key)
  expect(await update({ target: { ids: [`ins_${id}`] } })).toEqual({
    ...{ code: 'INVALID_INPUT', message: 'label: must be given, since nothing else changes.' },
  })
  const msg = 'The request changes nothing: give a state or a label.'
  for (const [path, body] of [
    ['/instances/', { ids: [id] }],
    [`/instances/${id}/`, {}],
  ] as const)
    expect((await app.rest(key, 'PUT', path, body)).body).toEqual({ success: false, error: 'invalid_args', msg })
  const tooLong = await app.rest(key, 'PUT', '/instances/', { ids: [id], label: 'x'.repeat(257) })
  expect(tooLong.body.msg).toMatch(/^label: /)
})

it('an item that is not found has its typed id over GraphQL, and its integer over REST', async () => {
  const read = async (field: string) => {
    const { data, errors } = await app.graphql(key, `mutation { ${field} { ... on Error { message } } }`)
    expect(errors).toBeUndefined()
    return Object.values(data)[0]
  }
  expect(await read('stopInstance(input: { id: 999 })')).toEqual({ message: 'Instance ins_999 not found.' })
  expect(await read('deleteVolume(input: { id: 999 })')).toEqual({ message: 'Volume vol_999 not found.' })
  expect((await app.rest(key, 'PUT', '/instances/999/', { state: 'stopped' })).body.msg).toBe('Instance 999 not found.')
})
