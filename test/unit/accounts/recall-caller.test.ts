import { expect, it } from 'vitest'
import { recallCaller } from '../../../src/auth/authenticate.ts'
import type { Services } from '../../../src/services/services.ts'

const services = {
  apiKeys: { recallAccount: (key: string) => (key === 'known' ? 7 : undefined) },
} as unknown as Services
const path = '/api/v0/users/current/'

it.each([
  ['Bearer known', path],
  [undefined, `${path}?api_key=known`],
  [undefined, `${path}?x_api_key=other&api_key=known`],
  [undefined, `${path}?api%5Fkey=known`],
  ['Basic other', `${path}?owner=me&api_key=known&api_key=other`],
])('recalls the account by the key that the face reads, from %j and %s', (authorization, url) => {
  expect(recallCaller(authorization, url, services)).toBe(7)
})

it.each([
  [undefined, path],
  [undefined, `${path}?x_api_key=known`],
  ['Bearer other', `${path}?api_key=known`],
])('recalls no account from %j and %s', (authorization, url) => {
  expect(recallCaller(authorization, url, services)).toBeUndefined()
})
