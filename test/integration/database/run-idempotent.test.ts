// When two requests count as the same, and how long a used idempotency key stays taken.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
import { text } from '../../../src/database/row-types.ts'
import type { Transaction } from '../../../src/database/transaction.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import { findReplay, type IdempotentRequest, runIdempotent } from '../../../src/services/idempotency.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const { sql } = Prisma
const dayMs = 24 * 3_600_000
const clock = manualClock()
const secrets = createSecrets('a secret of tests')
let testDatabase: TestDatabase
let gateway: Gateway
let actor: Actor

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
})

beforeEach(async () => {
  actor = await gateway.newActor()
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

const deps = () => ({ database: gateway.database, now: clock.now, secrets })
const noWork = async () => ({ done: true })

/** Returns "first" or "again", or the code of the refusal. */
async function runRequest(
  request: Partial<IdempotentRequest>,
  work: (tx: Transaction) => Promise<{ done: boolean }> = noWork,
) {
  const fullRequest = { operation: 'instances.rent' as const, input: {}, idempotencyKey: 'key', ...request }
  const outcome = runIdempotent(deps(), actor, fullRequest, work).then(({ replayed }) => (replayed ? 'again' : 'first'))
  return await outcome.catch((error: { code?: string }) => error.code ?? error)
}

describe('two requests', () => {
  it.each<[what: string, first: unknown, second: unknown]>([
    ['the order of the fields', { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
    ['the order of fields inside a list', [{ a: 1, b: 2 }], [{ b: 2, a: 1 }]],
    ['whether a field is missing or undefined', { a: 1 }, { a: 1, b: undefined }],
  ])('are the same if they differ only in %s', async (_what, first, second) => {
    expect([await runRequest({ input: first }), await runRequest({ input: second })]).toEqual(['first', 'again'])
  })

  it.each<[what: string, first: Partial<IdempotentRequest>, second: Partial<IdempotentRequest>]>([
    ['the operation', { operation: 'volumes.create' }, { operation: 'templates.save' }],
    ['the order of a list', { input: [1, 2] }, { input: [2, 1] }],
    ['a large number instead of a string', { input: { id: 5n } }, { input: { id: '5' } }],
    ['the name of a field', { input: { a: 1 } }, { input: { b: 1 } }],
    ['the place of a field', { input: { a: { c: 1 } } }, { input: { a: {}, c: 1 } }],
  ])('are not the same if they differ in %s', async (_what, first, second) => {
    expect([await runRequest(first), await runRequest(second)]).toEqual(['first', 'IDEMPOTENCY_KEY_REUSED'])
    expect(await runRequest(first)).toBe('again')
  })
})

describe('a used idempotency key', () => {
  it('is free for any request after a day, and its result is gone', async () => {
    const readReplay = () =>
      findReplay(deps(), actor, { operation: 'instances.rent', input: { a: 1 }, idempotencyKey: 'key' }).catch(
        (error: { code: string }) => error.code,
      )
    expect([await readReplay(), await runRequest({ input: { a: 1 } }), await readReplay()]).toEqual([
      undefined,
      'first',
      { done: true },
    ])
    clock.advance(dayMs - 1)
    expect([await readReplay(), await runRequest({ input: { a: 2 } })]).toEqual([
      { done: true },
      'IDEMPOTENCY_KEY_REUSED',
    ])
    clock.advance(1)
    expect([await readReplay(), await runRequest({ input: { a: 2 } })]).toEqual([undefined, 'first'])
    expect(await readReplay()).toBe('IDEMPOTENCY_KEY_REUSED')
  })

  it.each([
    ['is revoked', 'revoked_at = $2'],
    ['expires', 'expires_at = $2'],
    ['is reset', `public_id = 'another' || $2::timestamptz::text`],
  ])('returns nothing to an API key that %s before the repetition', async (_what, change) => {
    expect(await runRequest({})).toBe('first')
    await gateway.sql(`UPDATE api_keys SET ${change} WHERE id = $1`, [actor.apiKeyId, clock.now()])
    expect(await runRequest({})).toBe('UNAUTHENTICATED')
  })

  it('is free after a day, however many other keys have expired', async () => {
    const { accountId } = actor
    await gateway.sql(
      `INSERT INTO idempotency_keys (account_id, key, input_hash, result, created_at)
      SELECT $1, 'old ' || lpad(n::text, 3, '0'), '', '', $2 FROM generate_series(1, 300) n`,
      [accountId, new Date(clock.now().getTime() - dayMs)],
    )
    // The last key first, before any of them is used again.
    for (const number of ['300', '001']) expect(await runRequest({ idempotencyKey: `old ${number}` })).toBe('first')
  })
})

it('gives work with an idempotency key the same lock timeout as work without one', async () => {
  const lockTimeouts: unknown[] = []
  const readLockTimeout = async (tx: Transaction) => {
    const [shown] = await tx.query(sql`SHOW lock_timeout`, { lockTimeout: text })
    lockTimeouts.push(shown?.lockTimeout)
    return { done: true }
  }
  await runRequest({ idempotencyKey: null }, readLockTimeout)
  await runRequest({}, readLockTimeout)
  expect(lockTimeouts).toHaveLength(2)
  expect(lockTimeouts[1]).toBe(lockTimeouts[0])
})
