// A stored answer goes only to the API key of the first request, and only while that key has the permission.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { limitsOf } from '../../support/billing/limits.ts'
import {
  listRepeatableFields,
  listRepeatableRoutes,
  type RepeatableSite,
  repeatableCases,
  sendRepeatable,
} from '../../support/faces/repeatable.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let site: RepeatableSite
let otherKey: string
let requests = 0

beforeAll(async () => {
  app = await startApp()
})

afterAll(() => app.close())

beforeEach(async () => {
  const owner = await app.newKey(null, someCredit)
  site = { app, rentals: rentalsOf(app), owner }
  const { body } = await app.rest(owner, 'POST', '/auth/apikeys/', { name: 'other' })
  otherKey = body.key
})

const cases = Object.entries(repeatableCases)
const updateApiKey = (key: string, what: string) =>
  app.sql(`UPDATE api_keys SET ${what} WHERE public_id = '${key.split('_')[1]}'`)

/** Sends a request once. `again` repeats it with any API key and idempotency key. */
async function sendFirst(given: (typeof cases)[number]) {
  requests += 1
  const id = (await given[1].prepare?.(site)) ?? 0
  const again = (by: string, key = `request ${requests}`) => sendRepeatable(site, given, { id, by, key })
  return { first: await again(site.owner), again }
}

it('tests every field and every route that takes an idempotency key', () => {
  expect(Object.keys(repeatableCases).toSorted()).toEqual(
    [...listRepeatableFields(), ...listRepeatableRoutes()].toSorted(),
  )
})

describe('the answer of', () => {
  it.each(cases)('%s is returned again to the API key of the first request', async (...given) => {
    const { first, again } = await sendFirst(given)
    expect(first.code).toBe('OK')
    const repeated = await again(site.owner)
    expect(repeated.code).toBe('OK')
    if (first.replayed === false) expect(repeated).toEqual({ ...first, replayed: true })
    else if (given[1].hasSecret) expect(repeated).toEqual(first)
  })

  it.each(cases)(
    '%s is not returned to another API key of the account, which learns nothing about it',
    async (...given) => {
      const { first, again } = await sendFirst(given)
      const countEvents = () =>
        app.sql("SELECT count(*) FROM events WHERE reason = 'USER_REQUEST' OR kind LIKE 'API_KEY%'")
      const before = await countEvents()
      const refused = await again(otherKey)
      expect([refused.code, await countEvents()]).toEqual(['IDEMPOTENCY_KEY_REUSED', before])
      // The same text as for an idempotency key of a different request.
      const isTemplate = given[0].toLowerCase().includes('template')
      const unrelated = isTemplate ? 'createWebhook' : 'createTemplate'
      const unrelatedCase = repeatableCases[unrelated] as (typeof cases)[number][1]
      await sendRepeatable(site, [unrelated, unrelatedCase], { id: 0, by: otherKey, key: `unrelated ${requests}` })
      const conflict = await again(otherKey, `unrelated ${requests}`)
      expect(refused.text).toBe(conflict.text)
      expect(refused.text).not.toContain('berth_')
      expect(first.code).toBe('OK')
    },
  )

  it.each(cases)('%s is not returned to an API key that has lost the permission, or has ended', async (...given) => {
    const { again } = await sendFirst(given)
    await updateApiKey(site.owner, `permissions = '{"api": {"user_read": {}}}'`)
    expect((await again(site.owner)).code).toBe('FORBIDDEN')
    await updateApiKey(site.owner, 'permissions = NULL, revoked_at = now()')
    expect((await again(site.owner)).code).toMatch(/^(UNAUTHENTICATED|AUTH_ERROR)$/)
    await updateApiKey(site.owner, `revoked_at = NULL, expires_at = created_at`)
    expect((await again(site.owner)).code).toMatch(/^(UNAUTHENTICATED|AUTH_ERROR)$/)
  })

  it.each(cases.filter(([, { refusesLimited }]) => refusesLimited))(
    '%s is not returned to an API key that got a spend limit meanwhile',
    async (...given) => {
      const { again } = await sendFirst(given)
      const limits = limitsOf(app)
      const { apiKeyId } = await limits.accountOf(site.owner)
      await limits.set(otherKey, { apiKeyId: `key_${apiKeyId}`, window: 'DAY', amount: '50', action: 'NOTIFY' })
      expect((await again(site.owner)).code).toBe('FORBIDDEN')
    },
  )
})

describe('a record from before records belonged to API keys', () => {
  it('is returned to no key, and its request does not run twice', async () => {
    const { again } = await sendFirst(['rentInstance', repeatableCases['rentInstance'] as (typeof cases)[number][1]])
    await app.sql('UPDATE idempotency_keys SET api_key_id = NULL')
    const before = await app.sql('SELECT count(*) FROM instances')
    for (const key of [site.owner, otherKey]) expect((await again(key)).code).toBe('IDEMPOTENCY_KEY_REUSED')
    expect(await app.sql('SELECT count(*) FROM instances')).toEqual(before)
  })
})
