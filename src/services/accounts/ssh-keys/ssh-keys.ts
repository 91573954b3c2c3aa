import { Prisma } from '../../../database/generated/client.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { instanceAccessOperations } from '../../../domain/accounts/permissions/permissions.ts'
import type { SshKey } from '../../../domain/accounts/ssh-keys.ts'
import type { Actor } from '../../../domain/actor.ts'
import { notFound } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { authorize, authorizeAny } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { instancesWithKeySql, recordKeysChanged } from './attach.ts'

const { sql } = Prisma

const columns = sql`k.id, k.name, k.public_key, k.fingerprint, k.created_at`

export function sshKeyServices({ database }: Deps) {
  const findKeys = (actor: Actor, condition: Prisma.Sql, order?: Prisma.Sql) =>
    findSshKeys(database, actor, condition, order)

  return {
    /** The account's keys, oldest first. Without pages, since an account has few keys. */
    async list(actor: Actor): Promise<SshKey[]> {
      authorize(actor, 'sshKeys.list')
      return await findKeys(actor, sql`true`)
    },

    async byIds(actor: Actor, ids: readonly number[]): Promise<SshKey[]> {
      authorize(actor, 'sshKeys.list')
      return await findKeys(actor, sql`k.id = ANY(${ids.map(String)}::bigint[])`)
    },

    /** The newest key, which is shown with the account. */
    async newest(actor: Actor): Promise<SshKey | undefined> {
      authorize(actor, 'accounts.viewer')
      const [key] = await findKeys(actor, sql`true`, sql`k.id DESC LIMIT 1`)
      return key
    },

    /**
     * The keys of instances that the actor has read. Keys are a part of an instance, so they need no other permission. A
     * virtual machine shows the keys that it was created with, including those deleted since.
     */
    async byInstanceIds(actor: Actor, ids: readonly bigint[]): Promise<{ id: bigint; sshKeys: SshKey[] }[]> {
      authorizeAny(actor, instanceAccessOperations)
      const rows = await database.rows(sql`
        SELECT ${columns}, a.instance_id FROM instance_ssh_keys a JOIN ssh_keys k ON k.id = a.ssh_key_id
        JOIN instances i ON i.id = a.instance_id
        WHERE a.instance_id = ANY(${ids.map(String)}::bigint[]) AND i.account_id = ${actor.accountId} ORDER BY k.id`)
      return ids.map(id => ({ id, sshKeys: rows.filter(row => row.at(-1) === id).map(toSshKey) }))
    },

    /**
     * Deletes a key from the account and from its containers. A virtual machine keeps the key, since Berth cannot
     * change the machine from outside.
     */
    async delete(actor: Actor, id: number): Promise<void> {
      authorize(actor, 'sshKeys.delete', { id })
      while (!(await transaction(database, tx => deleteIn(tx, actor, id)))) {}
    },
  }
}

/** The account's keys that meet a condition. Internal: does not authorize; callers must have. */
export async function findSshKeys(
  database: Pick<Transaction, 'rows'>,
  { accountId }: Actor,
  condition: Prisma.Sql,
  order = sql`k.id`,
): Promise<SshKey[]> {
  const rows = await database.rows(sql`
    SELECT ${columns} FROM ssh_keys k
    WHERE k.account_id = ${accountId} AND k.deleted_at IS NULL AND ${condition} ORDER BY ${order}`)
  return rows.map(toSshKey)
}

/**
 * Deletes the key. Lock order: instances before keys. Returns false, and deletes nothing, when an instance got the key
 * while this transaction waited for the lock. The caller retries and locks that instance, too.
 */
async function deleteIn(tx: Transaction, actor: Actor, id: number): Promise<boolean> {
  const { at } = tx
  const { accountId, apiKeyId } = actor
  const instancesSql = instancesWithKeySql(actor, id)
  const locked = (await tx.rows(sql`${instancesSql} FOR NO KEY UPDATE`)).map(([instanceId]) => instanceId)
  const [key] = await tx.rows(sql`
    SELECT name, fingerprint FROM ssh_keys WHERE id = ${String(id)}::bigint AND account_id = ${accountId}
    AND deleted_at IS NULL FOR UPDATE`)
  if (!key) throw notFound('SshKey', id)
  const instances = (await tx.rows(instancesSql)).map(([instanceId]) => instanceId as bigint)
  if (!instances.every(instanceId => locked.includes(instanceId))) return false
  await tx.rows(sql`UPDATE ssh_keys SET deleted_at = ${at} WHERE id = ${id}`)
  const before = { sshKeyId: id, name: key[0], fingerprint: key[1] }
  await recordEvents(tx, [{ kind: 'SSH_KEY_DELETED', accountId, actor: apiKeyActor({ apiKeyId }), before }], at)
  await tx.rows(sql`
    DELETE FROM instance_ssh_keys WHERE ssh_key_id = ${id} AND instance_id = ANY(${instances.map(String)}::bigint[])`)
  await recordKeysChanged(tx, actor, instances, { before: { sshKeyId: id } }, at)
  return true
}

/**
 * Attaches all keys of the account to an instance, in the transaction that creates the instance. Returns the number of
 * keys. The share lock waits for deletions in progress, and delays new ones until the commit.
 */
export async function attachAllSshKeys(tx: Transaction, accountId: number, instanceId: bigint): Promise<number> {
  const given = await tx.rows(sql`
    INSERT INTO instance_ssh_keys (instance_id, ssh_key_id)
    SELECT ${instanceId}, id FROM ssh_keys WHERE account_id = ${accountId} AND deleted_at IS NULL ORDER BY id FOR SHARE
    RETURNING ssh_key_id`)
  return given.length
}

function toSshKey([id, name, publicKey, fingerprint, createdAt]: unknown[]): SshKey {
  return { id, name, publicKey, fingerprint, createdAt } as SshKey
}
