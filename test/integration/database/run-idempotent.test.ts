// What makes two requests the same, and what a key that was used leaves behind.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
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

/** Whether it was a repetition, or why it was refused. */
async function runRequest(
  request: Partial<IdempotentRequest>,
  work: (tx: Transaction) => Promise<{ done: boolean }> = noWork,
) {
  const fullRequest = { operation: 'instances.rent' as const, input: {}, idempotencyKey: 'key', ...request }
  const outcome = runIdempotent(deps(), actor, fullRequest, work).then(({ replayed }) => (replayed ? 'again' : 'first'))
  return await outcome.catch((error: { code?: string }) => error.code ?? error)
}

describe('a request is the same', () => {
  it.each<[what: string, first: unknown, second: unknown]>([
    ['in whatever order its parts are named', { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
    ['in whatever order they are named inside of a list', [{ a: 1, b: 2 }], [{ b: 2, a: 1 }]],
    ['whether something is left out or undefined', { a: 1 }, { a: 1, b: undefined }],
  ])('%s', async (_what, first, second) => {
    expect([await runRequest({ input: first }), await runRequest({ input: second })]).toEqual(['first', 'again'])
  })

  it.each<[what: string, first: Partial<IdempotentRequest>, second: Partial<IdempotentRequest>]>([
    ['another operation is asked for', { operation: 'volumes.create' }, { operation: 'templates.save' }],
    ['a list has another order', { input: [1, 2] }, { input: [2, 1] }],
    ['a large number is a text', { input: { id: 5n } }, { input: { id: '5' } }],
    ['a part has another name', { input: { a: 1 } }, { input: { b: 1 } }],
    ['a part is in another place', { input: { a: { c: 1 } } }, { input: { a: {}, c: 1 } }],
  ])('no more when %s', async (_what, first, second) => {
    expect([await runRequest(first), await runRequest(second)]).toEqual(['first', 'IDEMPOTENCY_KEY_REUSED'])
    expect(await runRequest(first)).toBe('again')
  })
})

describe('a key that was used', () => {
  it('is free for anything after a day, also for who only asks what it came to', async () => {
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
    ['has expired', 'expires_at = $2'],
    ['has another secret', `public_id = 'another' || $2::timestamptz::text`],
  ])('gives nothing to an API key that %s while it asks again', async (_what, change) => {
    expect(await runRequest({})).toBe('first')
    await gateway.sql(`UPDATE api_keys SET ${change} WHERE id = $1`, [actor.apiKeyId, clock.now()])
    expect(await runRequest({})).toBe('UNAUTHENTICATED')
  })

  it('is free after a day, however many others have expired too', async () => {
    const { accountId } = actor
    await gateway.sql(
      `INSERT INTO idempotency_keys (account_id, key, input_hash, result, created_at)
      SELECT $1, 'old ' || lpad(n::text, 3, '0'), '', '', $2 FROM generate_series(1, 300) n`,
      [accountId, new Date(clock.now().getTime() - dayMs)],
    )
    // Also the last, before any of them is used again.
    for (const number of ['300', '001']) expect(await runRequest({ idempotencyKey: `old ${number}` })).toBe('first')
  })
})

it('what is done with a key waits for others as long as what is done without', async () => {
  const lockTimeouts: unknown[] = []
  const readLockTimeout = async (tx: Transaction) => {
    lockTimeouts.push((await tx.rows(sql`SHOW lock_timeout`))[0]?.[0])
    return { done: true }
  }
  await runRequest({ idempotencyKey: null }, readLockTimeout)
  await runRequest({}, readLockTimeout)
  expect(lockTimeouts).toHaveLength(2)
  expect(lockTimeouts[1]).toBe(lockTimeouts[0])
})
