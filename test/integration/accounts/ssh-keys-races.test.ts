import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeTogether } from '../../../src/database/together.ts'
import { transaction } from '../../../src/database/transaction.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import { sshKeyWrites } from '../../../src/services/accounts/ssh-keys/ssh-keys.ts'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { waitForLockWaiters, waitUntilBlocksOthers, withSession } from '../../support/database/sessions.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let count = 0

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

async function anSshKey(actor: Actor): Promise<number> {
  count += 1
  const { sshKey } = await gateway.services.sshKeys.create(
    actor,
    { publicKey: aPublicKey(String(count)) },
    { id: true },
  )
  return sshKey.id
}

/** An account with a container and this many keys. */
async function aRenter(keys: number) {
  const actor = await gateway.newActor()
  await listMachines(gateway.operations, [{}])
  const [offer] = await gateway.sql('SELECT max(id) AS id FROM offers')
  const { id } = await gateway.rent(actor, BigInt(offer?.['id'] as string))
  const sshKeys: number[] = []
  while (sshKeys.length < keys) sshKeys.push(await anSshKey(actor))
  return { actor, id, sshKeys }
}

const attachAll = ({ actor, id }: { actor: Actor; id: bigint }, until: () => Promise<void> = async () => {}) =>
  transaction(gateway.database, async tx => {
    const { attachedKeys: given } = await writeTogether(tx, sshKeyWrites([{ id, accountId: actor.accountId }]))
    await until()
    return given
  })

async function keysOf(id: bigint): Promise<unknown[]> {
  const rows = await gateway.sql('SELECT ssh_key_id FROM instance_ssh_keys WHERE instance_id = $1 ORDER BY 1', [id])
  return rows.map(row => row['ssh_key_id'])
}

const generationOf = async (id: bigint) =>
  (await gateway.sql('SELECT generation FROM instance_looks WHERE instance_id = $1', [id]))[0]?.['generation'] as number

/** Deletes the key in another transaction, which commits once `work` waits for it. */
async function whileDeleting<T>(sshKey: number, work: () => Promise<T>): Promise<T> {
  return await withSession(testDatabase.url, async session => {
    await session.query('BEGIN')
    await session.query('UPDATE ssh_keys SET deleted_at = now() WHERE id = $1', [sshKey])
    let isDone = false
    const working = work().finally(() => {
      isDone = true
    })
    working.catch(() => {})
    await waitForLockWaiters(session, () => isDone)
    await session.query('COMMIT')
    return await working
  })
}

describe('a new instance', () => {
  it('gets all keys of its account and no others', async () => {
    const renter = await aRenter(3)
    await anSshKey(await gateway.newActor())
    const [first, second, third] = renter.sshKeys as [number, number, number]
    await gateway.services.sshKeys.delete(renter.actor, second)
    expect([await attachAll(renter), await keysOf(renter.id)]).toEqual([2, [first, third]])
  })

  it('gets no keys when its account has none', async () => {
    expect(await attachAll(await aRenter(0))).toBe(0)
  })

  it('does not get a key that is being deleted', async () => {
    const renter = await aRenter(2)
    const [first, second] = renter.sshKeys as [number, number]
    expect(await whileDeleting(first, () => attachAll(renter))).toBe(1)
    expect(await keysOf(renter.id)).toEqual([second])
  })

  it('loses a key that is deleted while the instance gets it', async () => {
    const renter = await aRenter(2)
    const [first, second] = renter.sshKeys as [number, number]
    const before = await generationOf(renter.id)
    let deleting: Promise<void> | undefined
    await withSession(testDatabase.url, session =>
      attachAll(renter, async () => {
        let isDone = false
        deleting = gateway.services.sshKeys.delete(renter.actor, first).finally(() => {
          isDone = true
        })
        await waitForLockWaiters(session, () => isDone)
      }),
    )
    await deleting
    expect([await keysOf(renter.id), await generationOf(renter.id)]).toEqual([[second], before + 1])
  })
})

describe('a key that is deleted', () => {
  it('is locked after the containers that have it, as in every transaction that locks keys and containers', async () => {
    const { actor, id, sshKeys } = await aRenter(1)
    const [sshKey] = sshKeys as [number]
    await gateway.services.sshKeys.attach(actor, id, sshKey)
    let deleting: Promise<void> | undefined
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM instances WHERE id = $1 FOR UPDATE', [id])
      let isDone = false
      deleting = gateway.services.sshKeys.delete(actor, sshKey).finally(() => {
        isDone = true
      })
      await waitForLockWaiters(session, () => isDone)
      // Fails when the deletion has locked the key and waits for the container.
      await session.query('SELECT FROM ssh_keys WHERE id = $1 FOR SHARE NOWAIT', [sshKey])
      await session.query('COMMIT')
    }).finally(() => deleting)
    expect(await keysOf(id)).toEqual([])
  })
})

describe('a key to replace', () => {
  const replace = (actor: Actor, id: number, text: string) =>
    gateway.services.sshKeys.update(actor, id, { publicKey: aPublicKey(text) }, { id: true })

  it('is locked after the containers that have it, as in every transaction that locks keys and containers', async () => {
    const { actor, id, sshKeys } = await aRenter(1)
    const [sshKey] = sshKeys as [number]
    await gateway.services.sshKeys.attach(actor, id, sshKey)
    let replacing: Promise<unknown> | undefined
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM instances WHERE id = $1 FOR UPDATE', [id])
      let isDone = false
      replacing = replace(actor, sshKey, 'in its place').finally(() => {
        isDone = true
      })
      await waitForLockWaiters(session, () => isDone)
      await session.query('SELECT FROM ssh_keys WHERE id = $1 FOR SHARE NOWAIT', [sshKey])
      await session.query('COMMIT')
    }).finally(() => replacing)
    expect(await keysOf(id)).toEqual([sshKey])
  })

  it('is replaced in a new container that gets it meanwhile', async () => {
    const renter = await aRenter(1)
    const [sshKey] = renter.sshKeys as [number]
    const before = await generationOf(renter.id)
    let replacing: Promise<unknown> | undefined
    await withSession(testDatabase.url, session =>
      attachAll(renter, async () => {
        let isDone = false
        replacing = replace(renter.actor, sshKey, 'meanwhile').finally(() => {
          isDone = true
        })
        await waitForLockWaiters(session, () => isDone)
      }),
    )
    await replacing
    expect(await generationOf(renter.id)).toBe(before + 1)
  })

  it('is replaced in a container that gets it meanwhile, and is not locked during the wait for that container', async () => {
    const { actor, id, sshKeys } = await aRenter(1)
    const [sshKey] = sshKeys as [number]
    const before = await generationOf(id)
    await withSession(testDatabase.url, async holder => {
      await holder.query('BEGIN')
      await holder.query('SELECT FROM instances WHERE id = $1 FOR NO KEY UPDATE', [id])
      const { done } = await withSession(testDatabase.url, async giver => {
        await giver.query('BEGIN')
        await giver.query('INSERT INTO instance_ssh_keys (instance_id, ssh_key_id) VALUES ($1, $2)', [id, sshKey])
        await giver.query('SELECT FROM ssh_keys WHERE id = $1 FOR SHARE', [sshKey])
        const done = replace(actor, sshKey, 'given meanwhile')
        done.catch(() => {})
        await waitUntilBlocksOthers(giver)
        await giver.query('COMMIT')
        return { done }
      })
      // The replacement sees the container now, and waits for its lock.
      await waitUntilBlocksOthers(holder)
      await holder.query('SELECT FROM ssh_keys WHERE id = $1 FOR SHARE NOWAIT', [sshKey])
      await holder.query('COMMIT')
      await done
    })
    expect(await generationOf(id)).toBe(before + 1)
  })

  it('cannot be replaced while it is being deleted', async () => {
    const { actor, sshKeys } = await aRenter(1)
    const [sshKey] = sshKeys as [number]
    const replacing = whileDeleting(sshKey, () => replace(actor, sshKey, 'too late'))
    await expect(replacing).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('is not replaced by a public key that replaces another key at the same moment', async () => {
    const { actor, sshKeys } = await aRenter(2)
    const both = await Promise.allSettled(sshKeys.map(id => replace(actor, id, 'twice')))
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const refused = both.find(({ status }) => status === 'rejected') as PromiseRejectedResult
    expect(refused.reason).toMatchObject({ code: 'CONFLICT', details: { subject: { type: 'SshKey' } } })
  })
})

describe('an account', () => {
  it('has no more than 100 keys, even when two are registered at once', async () => {
    const { actor } = await aRenter(1)
    const add = `INSERT INTO ssh_keys (account_id, name, public_key, fingerprint, created_at)
      SELECT account_id, '', public_key, n::text, now() FROM ssh_keys, generate_series($2::int, $3::int) n WHERE account_id = $1`
    await gateway.sql(`${add} LIMIT 98`, [actor.accountId, 2, 99])
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [actor.accountId])
      await session.query(`${add} LIMIT 1`, [actor.accountId, 100, 100])
      let isDone = false
      const registering = anSshKey(actor).finally(() => {
        isDone = true
      })
      registering.catch(() => {})
      await waitForLockWaiters(session, () => isDone)
      await session.query('COMMIT')
      await expect(registering).rejects.toThrow('100')
    })
  })

  it('cannot read the keys of instances of another account', async () => {
    const { actor, id, sshKeys } = await aRenter(1)
    await gateway.services.sshKeys.attach(actor, id, sshKeys[0] as number)
    const read = async (by: Actor) => (await gateway.services.sshKeys.byInstanceIds(by, [id], { id: true }))[0]?.sshKeys
    expect([await read(actor), await read(await gateway.newActor())]).toMatchObject([[{ id: sshKeys[0] }], []])
  })
})

describe('a container', () => {
  it('does not get a key that is being deleted', async () => {
    const { actor, id, sshKeys } = await aRenter(1)
    const [sshKey] = sshKeys as [number]
    const attaching = whileDeleting(sshKey, () => gateway.services.sshKeys.attach(actor, id, sshKey))
    await expect(attaching).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await keysOf(id)).toEqual([])
  })

  it('gets a key once, when several requests attach it at once', async () => {
    const { actor, id, sshKeys } = await aRenter(1)
    const before = await generationOf(id)
    const attaching = Array.from({ length: 8 }, () => gateway.services.sshKeys.attach(actor, id, sshKeys[0] as number))
    expect((await Promise.all(attaching)).toSorted()).toEqual(['applied', ...Array(7).fill('unchanged')])
    expect(await generationOf(id)).toBe(before + 1)
  })

  it('gets a new key that another request registers at the same moment', async () => {
    const { actor, id } = await aRenter(0)
    const publicKey = aPublicKey('new to both')
    const { sshKey: model } = await gateway.services.sshKeys.create(
      await gateway.newActor(),
      { publicKey },
      { id: true },
    )
    const [admitted, registered] = await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      const { rows } = await session.query(
        `INSERT INTO ssh_keys (account_id, name, public_key, fingerprint, created_at)
        SELECT $1, name, public_key, fingerprint, created_at FROM ssh_keys WHERE id = $2 RETURNING id`,
        [actor.accountId, model.id],
      )
      let isDone = false
      const admitting = gateway.services.sshKeys.attachByPublicKey(actor, id, publicKey, { id: true }).finally(() => {
        isDone = true
      })
      admitting.catch(() => {})
      await waitForLockWaiters(session, () => isDone)
      await session.query('COMMIT')
      return [await admitting, rows[0].id]
    })
    expect(admitted).toMatchObject({ sshKey: { id: registered }, outcome: 'applied' })
    expect(await keysOf(id)).toEqual([registered])
  })

  it('loses a key that it gets during the deletion of the key, which does not lock the key while waiting for the container', async () => {
    const { actor, id, sshKeys } = await aRenter(1)
    const [sshKey] = sshKeys as [number]
    await withSession(testDatabase.url, async holder => {
      await holder.query('BEGIN')
      await holder.query('SELECT FROM instances WHERE id = $1 FOR NO KEY UPDATE', [id])
      const { done } = await withSession(testDatabase.url, async giver => {
        await giver.query('BEGIN')
        await giver.query('INSERT INTO instance_ssh_keys (instance_id, ssh_key_id) VALUES ($1, $2)', [id, sshKey])
        await giver.query('SELECT FROM ssh_keys WHERE id = $1 FOR SHARE', [sshKey])
        const done = gateway.services.sshKeys.delete(actor, sshKey)
        done.catch(() => {})
        await waitUntilBlocksOthers(giver)
        await giver.query('COMMIT')
        return { done }
      })
      // The deletion sees that the instance has the key, and waits for the lock of the instance.
      await waitUntilBlocksOthers(holder)
      const { rows } = await holder.query(
        'SELECT id FROM ssh_keys WHERE id = $1 AND deleted_at IS NULL FOR SHARE NOWAIT',
        [sshKey],
      )
      expect(rows).toHaveLength(1)
      await holder.query('COMMIT')
      await done
    })
    expect(await keysOf(id)).toEqual([])
  })

  it('gets a key with the next pass when the key is attached during a pass', async () => {
    const { actor, id, sshKeys } = await aRenter(2)
    const shown = async () =>
      (await gateway.sql('SELECT ssh_keys FROM simulated_containers WHERE instance_id = $1', [id]))[0]?.['ssh_keys']
    for (let turn = 1; turn <= 4; turn += 1) {
      await gateway.idle()
      clock.advance(31_000)
    }
    const [first, second] = sshKeys as [number, number]
    await gateway.services.sshKeys.attach(actor, id, first)
    const [lease] = (await gateway.reconciliation.leaseDue(1_000)).filter(({ instanceId }) => instanceId === id)
    if (!lease) throw new Error('The instance was not due.')
    await gateway.services.sshKeys.attach(actor, id, second)
    await gateway.reconcile(lease)
    expect(await shown()).toHaveLength(1)
    await gateway.idle()
    expect(await shown()).toHaveLength(2)
  })

  it('wakes the gateway once per change of its keys, and never without a change', async () => {
    const { actor, id, sshKeys } = await aRenter(1)
    const { sshKeys: services } = gateway.services
    const wakesOf = async (work: () => Promise<unknown>) => {
      const before = gateway.wakeCount()
      await work().catch(() => {})
      return gateway.wakeCount() - before
    }
    const [sshKey] = sshKeys as [number]
    expect(await wakesOf(() => services.attach(actor, id, sshKey))).toBe(1)
    expect(await wakesOf(() => services.attach(actor, id, sshKey))).toBe(0)
    expect(await wakesOf(() => services.detach(actor, id, sshKey))).toBe(1)
    expect(await wakesOf(() => services.detach(actor, id, sshKey))).toBe(0)
    expect(await wakesOf(() => services.delete(actor, sshKey))).toBe(1)
    const input = { publicKey: aPublicKey('woken'), idempotencyKey: 'woken', instanceIds: [id] }
    expect(await wakesOf(() => services.create(actor, input, { id: true }))).toBe(1)
    expect(await wakesOf(() => services.create(actor, input, { id: true }))).toBe(0)
  })
})
