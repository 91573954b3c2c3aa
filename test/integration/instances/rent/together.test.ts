// Rentals that arrive together, and share a transaction.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../../../../src/domain/actor.ts'
import type { LaunchInput } from '../../../../src/domain/launch/launch.ts'
import type { TemplateReference } from '../../../../src/domain/templates/templates.ts'
import { createSecrets, openJson } from '../../../../src/services/secrets.ts'
import { aPublicKey } from '../../../support/accounts/ssh-keys.ts'
import { defaultAdmission } from '../../../support/billing/admission.ts'
import { creditSql } from '../../../support/billing/credit-sql.ts'
import { captureQueries } from '../../../support/database/captured-statements.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'
import { waitForLockWaiters, withSession } from '../../../support/database/sessions.ts'
import { listMachines } from '../../../support/factories.ts'
import { type Gateway, openGateway } from '../../../support/gateways.ts'

let testDatabase: TestDatabase
let gateway: Gateway

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, admission: defaultAdmission, poolSize: 8 })
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

const actors = (count: number) => inTurn(count, () => gateway.newActor())

/** The offers of whole new machines with one GPU. */
async function offers(count: number): Promise<bigint[]> {
  await listMachines(gateway.operations, Array(count).fill({}))
  const rows = await gateway.sql('SELECT id FROM offers ORDER BY id DESC LIMIT $1', [count])
  return rows.map(({ id }) => BigInt(id as string)).toReversed()
}

async function inTurn<Value>(count: number, make: () => Promise<Value>): Promise<Value[]> {
  const made: Value[] = []
  while (made.length < count) made.push(await make())
  return made
}

type Options = { launch?: LaunchInput; template?: TemplateReference; idempotencyKey?: string }

/** Rents, and answers with the id of the instance, or with the code of the refusal. */
async function rent(actor: Actor, offerId: bigint, { launch, template, idempotencyKey }: Options = {}) {
  const input = { offerId, terms: { interruptible: false as const }, launch: { image: 'ubuntu', ...launch }, template }
  const options = idempotencyKey === undefined ? {} : { idempotencyKey }
  const renting = gateway.services.instances.rent(actor, { ...input, failIfUnavailable: false }, { id: true }, options)
  return await renting.then(
    ({ instance, replayed }) => ({ id: instance.id, replayed }),
    (error: { code?: string }) => ({ refusal: error.code ?? error }),
  )
}

const instancesOf = async ({ accountId }: Actor) =>
  await gateway.sql('SELECT id, machine_id, launch, secret_env FROM instances WHERE account_id = $1 ORDER BY id', [
    accountId,
  ])

/** What must be there for each instance, once. */
async function expectWholeRentals(count: number): Promise<void> {
  const [row] = await gateway.sql(`
    SELECT count(*)::int AS instances, count(DISTINCT machine_id)::int AS machines,
      count((SELECT 1 FROM gpus g WHERE g.holder_id = i.id))::int AS gpus,
      sum((SELECT count(*) FROM meters m WHERE m.instance_id = i.id AND m.account_id = i.account_id))::int AS meters,
      sum((SELECT count(*) FROM events e WHERE e.instance_id = i.id AND e.account_id = i.account_id))::int AS events,
      count((SELECT 1 FROM offers o WHERE o.id = i.offer_id AND o.withdrawn_at IS NOT NULL))::int AS offers
    FROM (SELECT * FROM instances ORDER BY id DESC LIMIT ${count}) i`)
  expect(row).toEqual({
    ...{ instances: count, machines: count, gpus: count, offers: count },
    // A meter of the GPUs and one of the disk; the events of the creation and of the grant.
    ...{ meters: 2 * count, events: 2 * count },
  })
}

describe('rentals that arrive together', () => {
  it('take few statements, however many they are', async () => {
    const count = async (rentals: number) => {
      const [renters, offerIds] = [await actors(rentals), await offers(rentals)]
      const queries = await captureQueries(async () => {
        const answers = await Promise.all(renters.map((actor, index) => rent(actor, offerIds[index] as bigint)))
        expect(answers.filter(answer => 'id' in answer)).toHaveLength(rentals)
      })
      await expectWholeRentals(rentals)
      return queries.length
    }
    const few = await count(2)
    expect(few).toBeLessThanOrEqual(8)
    expect(await count(40)).toBe(few)
  })

  it('get what belongs to their own accounts: templates, secret variables and SSH keys', async () => {
    const renters = await actors(6)
    const offerIds = await offers(renters.length)
    const templates: { id: number; hashId: string; name: string }[] = []
    for (const [index, actor] of renters.entries()) {
      const name = 'the same name'
      const input = { name, public: false, launch: { image: `image-${index}` } }
      const { template } = await gateway.services.templates.create(actor, { input }, { id: true, hashId: true })
      templates.push({ ...template, name })
      await gateway.services.secretVariables.update(actor, [{ name: 'TOKEN', value: `secret-${index}` }], {
        name: true,
      })
      await gateway.services.sshKeys.create(actor, { publicKey: aPublicKey(`key-${index}`) }, { id: true })
    }
    const references = templates.map(({ id, hashId, name }, index): TemplateReference => {
      return index % 3 === 0 ? { id: BigInt(id) } : index % 3 === 1 ? { hashId } : { name }
    })
    const answers = await Promise.all(
      renters.map((actor, index) =>
        rent(actor, offerIds[index] as bigint, {
          launch: { image: undefined },
          template: references[index] as TemplateReference,
        }),
      ),
    )
    for (const [index, actor] of renters.entries()) {
      const [instance, ...others] = await instancesOf(actor)
      expect([instance?.['id'], others]).toEqual([String((answers[index] as { id: bigint }).id), []])
      expect(instance).toMatchObject({ launch: { image: `image-${index}` } })
      const env = openJson(createSecrets('a secret of tests'), instance?.['secret_env'] as Uint8Array)
      expect(env).toEqual({ TOKEN: `secret-${index}` })
      const keys = await gateway.sql(
        'SELECT k.account_id FROM instance_ssh_keys i JOIN ssh_keys k ON k.id = i.ssh_key_id WHERE i.instance_id = $1',
        [instance?.['id']],
      )
      expect(keys).toEqual([{ account_id: actor.accountId }])
    }
  })

  it('are warned each of its own account, and decided by the GPUs of its own machine', async () => {
    const renters = await actors(6)
    for (const [index, actor] of renters.entries())
      if (index % 2 === 0)
        await gateway.services.sshKeys.create(actor, { publicKey: aPublicKey(`own-${index}`) }, { id: true })
    await listMachines(gateway.operations, Array(renters.length).fill({ machine: { numGpus: 2 } }))
    const rows = await gateway.sql(
      'SELECT id, machine_id, first_gpu FROM offers WHERE num_gpus = 1 ORDER BY machine_id DESC, first_gpu LIMIT $1',
      [2 * renters.length],
    )
    const of = (gpu: number) => rows.filter(row => row['first_gpu'] === gpu).map(row => BigInt(row['id'] as string))
    // Each machine has a rental already.
    for (const offer of of(0)) await rent(renters[0] as Actor, offer)
    const warnings = await Promise.all(
      renters.map(async (actor, index) => {
        const input = {
          terms: { interruptible: false as const },
          launch: { image: 'ubuntu', mode: 'sshDirect' as const },
        }
        const offer = { offerId: of(1)[index] as bigint, failIfUnavailable: true }
        return (await gateway.services.instances.rent(actor, { ...input, ...offer }, { id: true })).warnings.length
      }),
    )
    expect(warnings).toEqual([0, 1, 0, 1, 0, 1])
    const machines = rows.map(row => row['machine_id'])
    const holders = 'SELECT count(DISTINCT holder_id)::int AS held FROM gpus WHERE machine_id = ANY($1)'
    expect(await gateway.sql(holders, [machines])).toEqual([{ held: 2 * renters.length }])
  })

  it('are refused each for its own reason, and do not refuse the others', async () => {
    const [rich, other, poor, foreign] = (await actors(4)) as [Actor, Actor, Actor, Actor]
    const [first, second, third, gone, fifth] = (await offers(5)) as [bigint, bigint, bigint, bigint, bigint]
    await rent(other, gone)
    await gateway.sql(creditSql(0n, `id = ${poor.accountId}`))
    const reference = { hashId: 'f'.repeat(32) }
    const answers = await Promise.all([
      rent(rich, first),
      rent(poor, second),
      rent(other, third),
      rent(rich, gone),
      rent(foreign, fifth, { template: reference }),
      rent(other, 999_999_999n),
    ])
    expect(answers).toEqual([
      { id: expect.any(BigInt), replayed: false },
      { refusal: 'INSUFFICIENT_CREDIT' },
      { id: expect.any(BigInt), replayed: false },
      { refusal: 'OFFER_UNAVAILABLE' },
      { refusal: 'NOT_FOUND' },
      { refusal: 'OFFER_UNAVAILABLE' },
    ])
    expect(await instancesOf(poor)).toEqual([])
    // The refused offers are still on the market.
    expect(await rent(other, second)).toMatchObject({ replayed: false })
    expect(await rent(other, fifth)).toMatchObject({ replayed: false })
  })

  it('exceed no quota of their account together, and leave the rentals of others alone', async () => {
    const [limited, other] = (await actors(2)) as [Actor, Actor]
    await gateway.sql('UPDATE accounts SET max_instances = 3 WHERE id = $1', [limited.accountId])
    const offerIds = await offers(16)
    const answers = await Promise.all(offerIds.map((id, index) => rent(index % 2 === 0 ? limited : other, id)))
    const ofLimited = answers.filter((_, index) => index % 2 === 0)
    expect(ofLimited.filter(answer => 'id' in answer)).toHaveLength(3)
    expect(ofLimited.filter(answer => 'refusal' in answer)).toEqual(Array(5).fill({ refusal: 'QUOTA_EXCEEDED' }))
    expect(answers.filter((answer, index) => index % 2 === 1 && 'id' in answer)).toHaveLength(8)
    expect(await instancesOf(limited)).toHaveLength(3)
  })

  it('spend no credit twice', async () => {
    const [actor] = (await actors(1)) as [Actor]
    const offerIds = await offers(10)
    const [price] = await gateway.sql('SELECT price_nanos FROM offers WHERE id = $1', [offerIds[0]])
    // Enough for an hour of two of them, and for their disks.
    const credit = (BigInt(price?.['price_nanos'] as string) * 5n) / 2n
    await gateway.sql(creditSql(credit, `id = ${actor.accountId}`))
    const answers = await Promise.all(offerIds.map(id => rent(actor, id)))
    const rented = answers.filter(answer => 'id' in answer)
    expect(rented.length).toBeGreaterThan(0)
    expect(rented.length).toBeLessThanOrEqual(2)
    expect(answers).toEqual(expect.arrayContaining([{ refusal: 'INSUFFICIENT_CREDIT' }]))
  })

  it('rent an offer once, and offers of one machine both', async () => {
    const renters = await actors(8)
    const [offer] = (await offers(1)) as [bigint]
    const answers = await Promise.all(renters.map(actor => rent(actor, offer)))
    expect(answers.filter(answer => 'id' in answer)).toHaveLength(1)
    expect(answers.filter(answer => 'refusal' in answer)).toEqual(Array(7).fill({ refusal: 'OFFER_UNAVAILABLE' }))
    await listMachines(gateway.operations, [{ machine: { numGpus: 2 } }])
    const rows = await gateway.sql('SELECT id FROM offers ORDER BY id DESC LIMIT 3')
    const halves = await gateway.sql('SELECT id FROM offers WHERE id = ANY($1) AND num_gpus = 1', [
      rows.map(row => row['id']),
    ])
    const both = await Promise.all(halves.map(({ id }, index) => rent(renters[index] as Actor, BigInt(id as string))))
    expect(both.filter(answer => 'id' in answer)).toHaveLength(2)
  })

  it.each([
    ['machine', 'machines WHERE id = (SELECT machine_id FROM offers WHERE id = $1)'],
    ['account', 'accounts WHERE id = $2'],
    ['SSH key', 'ssh_keys WHERE account_id = $2'],
  ])('wait only a moment for a %s that another transaction has locked', async (what, rows) => {
    const [actor, other] = (await actors(2)) as [Actor, Actor]
    await gateway.services.sshKeys.create(actor, { publicKey: aPublicKey(`locked ${what}`) }, { id: true })
    const [locked, ...free] = (await offers(4)) as [bigint, ...bigint[]]
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query(`SELECT $1::bigint, $2::int FROM ${rows} FOR UPDATE`, [locked, actor.accountId])
      let isDone = false
      const waiting = rent(actor, locked).finally(() => {
        isDone = true
      })
      const others = await Promise.all(free.map(id => rent(other, id)))
      expect(others.filter(answer => 'id' in answer)).toHaveLength(3)
      await waitForLockWaiters(session, () => isDone)
      expect(isDone).toBe(false)
      await session.query('COMMIT')
      expect(await waiting).toMatchObject({ replayed: false })
    })
    // Failures of shared transactions would be in the log.
    expect(gateway.lines.filter(({ level }) => level !== 'info')).toEqual([])
  })
})

describe('a lost answer to COMMIT', () => {
  it('fails all rentals of the transaction, and repeats none', async () => {
    const dying = openGateway({ url: testDatabase.url, admission: defaultAdmission })
    const lost = new Error('Connection terminated unexpectedly')
    dying.database.pool.on('connect', client => {
      const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
      const losing = async (...args: unknown[]) => {
        const result = await query(...args)
        if (args[0] === 'COMMIT') throw lost
        return result
      }
      client.query = losing as typeof client.query
    })
    const renters = await actors(2)
    const offerIds = await offers(2)
    const queries = await captureQueries(async () => {
      const answers = await Promise.allSettled(
        renters.map((actor, index) => dying.rent(actor, offerIds[index] as bigint)),
      )
      expect(answers).toEqual(Array(2).fill({ status: 'rejected', reason: lost }))
    })
    expect(queries.filter(text => text === 'COMMIT')).toHaveLength(1)
    for (const actor of renters) expect(await instancesOf(actor)).toHaveLength(1)
    await dying.close()
  })
})

describe('idempotency keys of rentals that arrive together', () => {
  const storedKeys = async ({ accountId }: Actor) =>
    (await gateway.sql('SELECT key FROM idempotency_keys WHERE account_id = $1 ORDER BY key', [accountId])).map(
      row => row['key'],
    )

  it('make each request once: a repetition gets the same instance', async () => {
    const renters = await actors(4)
    const offerIds = await offers(4)
    const ask = () => renters.map((actor, index) => rent(actor, offerIds[index] as bigint, { idempotencyKey: 'one' }))
    const answers = await Promise.all([...ask(), ...ask()])
    for (const [index, actor] of renters.entries()) {
      const own = [answers[index], answers[index + 4]] as { id: bigint; replayed: boolean }[]
      expect(own.map(({ replayed }) => replayed).toSorted()).toEqual([false, true])
      expect(own[0]?.id).toBe(own[1]?.id)
      expect(await instancesOf(actor)).toHaveLength(1)
    }
    expect((await Promise.all(ask())).map(answer => 'replayed' in answer && answer.replayed)).toEqual(
      Array(4).fill(true),
    )
  })

  it('refuse another request with the same key', async () => {
    // In another order than that of their locks.
    const renters = (await actors(12)).toReversed()
    const offerIds = await offers(24)
    const asked = renters.flatMap((actor, index) =>
      offerIds.slice(2 * index, 2 * index + 2).map(offer => rent(actor, offer, { idempotencyKey: 'shared' })),
    )
    const answers = await Promise.all(asked)
    for (const [index, actor] of renters.entries()) {
      const own = answers.slice(2 * index, 2 * index + 2)
      const winner = own.findIndex(answer => 'id' in answer)
      expect(own[winner]).toEqual({ id: expect.any(BigInt), replayed: false })
      expect(own[1 - winner]).toEqual({ refusal: 'IDEMPOTENCY_KEY_REUSED' })
      const rented = await gateway.sql('SELECT offer_id FROM instances WHERE account_id = $1', [actor.accountId])
      expect(rented).toEqual([{ offer_id: String(offerIds[2 * index + winner]) }])
    }
  })

  it('stay free if the rental is refused', async () => {
    const [actor, other] = (await actors(2)) as [Actor, Actor]
    const [gone, free, third] = (await offers(3)) as [bigint, bigint, bigint]
    await rent(other, gone)
    const answers = await Promise.all([
      rent(actor, gone, { idempotencyKey: 'refused' }),
      rent(actor, free, { idempotencyKey: 'rented' }),
    ])
    expect(answers).toEqual([{ refusal: 'OFFER_UNAVAILABLE' }, { id: expect.any(BigInt), replayed: false }])
    expect(await storedKeys(actor)).toEqual(['rented'])
    expect(await rent(actor, third, { idempotencyKey: 'refused' })).toMatchObject({ replayed: false })
  })

  it('do not hold up others while a first request with the same key has not ended', async () => {
    const [actor, other] = (await actors(2)) as [Actor, Actor]
    const [first, second] = (await offers(2)) as [bigint, bigint]
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query(
        `INSERT INTO idempotency_keys (account_id, key, api_key_id, input_hash, result, created_at)
         VALUES ($1, 'busy', $2, '', '', now())`,
        [actor.accountId, actor.apiKeyId],
      )
      const ended: unknown[] = []
      const asked = [rent(actor, first, { idempotencyKey: 'busy' }), rent(other, second)]
      await Promise.all(asked.map(async answer => ended.push(await answer)))
      expect(ended).toEqual([{ id: expect.any(BigInt), replayed: false }, { refusal: 'IDEMPOTENCY_IN_PROGRESS' }])
      await session.query('ROLLBACK')
    })
    expect(await rent(actor, first, { idempotencyKey: 'busy' })).toMatchObject({ replayed: false })
  })
})
