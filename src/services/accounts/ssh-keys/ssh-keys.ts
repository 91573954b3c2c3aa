import { Prisma } from '../../../database/generated/client.ts'
import { int8, text } from '../../../database/row-types.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { instanceAccessOperations } from '../../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../../domain/actor.ts'
import { notFound } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { authorize, authorizeAny } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { asSelected, type ColumnSelect, type SelectedColumns } from '../../selected.ts'
import { instancesWithKeySql, recordKeysChanged } from './attach.ts'

const { sql } = Prisma

export type SshKeySelect = ColumnSelect<'SshKey', 'id'>
export type SelectedSshKey<Select> = SelectedColumns<'SshKey', 'id', Select>

export function sshKeyServices({ database }: Deps) {
  return {
    /** The account's keys, oldest first. Without pages, since an account has few keys. */
    async list<Select extends SshKeySelect>(actor: Actor, select: Select) {
      authorize(actor, 'sshKeys.list')
      return await findSshKeys(database.prisma, actor, {}, select)
    },

    async byIds<Select extends SshKeySelect>(actor: Actor, ids: readonly number[], select: Select) {
      authorize(actor, 'sshKeys.list')
      return await findSshKeys(database.prisma, actor, { id: { in: [...ids] } }, select)
    },

    /** The newest key, which is shown with the account. */
    async newest<Select extends SshKeySelect>(actor: Actor, select: Select) {
      authorize(actor, 'accounts.viewer')
      const [key] = await findSshKeys(database.prisma, actor, {}, select, { orderBy: { id: 'desc' }, take: 1 })
      return key
    },

    /**
     * The keys of instances that the actor has read. Keys are a part of an instance, so they need no other permission. A
     * virtual machine shows the keys that it was created with, including those deleted since.
     */
    async byInstanceIds<Select extends SshKeySelect>(actor: Actor, ids: readonly bigint[], select: Select) {
      authorizeAny(actor, instanceAccessOperations)
      const attachments = await findAttachments(database.prisma, actor, ids, select)
      const byInstance = Map.groupBy(attachments, ({ instanceId }) => instanceId)
      return ids.map(id => ({ id, sshKeys: (byInstance.get(id) ?? []).map(({ sshKey }) => sshKey) }))
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
export async function findSshKeys<Select extends SshKeySelect>(
  prisma: Prisma.TransactionClient,
  { accountId }: Actor,
  where: Prisma.SshKeyWhereInput,
  select: Select,
  options: Pick<Prisma.SshKeyFindManyArgs, 'orderBy' | 'take'> = { orderBy: { id: 'asc' } },
): Promise<SelectedSshKey<Select>[]> {
  return asSelected(
    await prisma.sshKey.findMany({ ...options, where: { ...where, accountId, deletedAt: null }, select }),
  )
}

/** The keys of the account's instances, in key order. */
async function findAttachments<Select extends SshKeySelect>(
  prisma: Prisma.TransactionClient,
  { accountId }: Actor,
  instanceIds: readonly bigint[],
  select: Select,
): Promise<{ instanceId: bigint; sshKey: SelectedSshKey<Select> }[]> {
  const found = await prisma.instanceSshKey.findMany({
    where: { instanceId: { in: [...instanceIds] }, instance: { accountId } },
    select: { instanceId: true, sshKey: { select } },
    orderBy: { sshKeyId: 'asc' },
  })
  return asSelected(found)
}

/**
 * Deletes the key. Lock order: instances before keys. Returns false, and deletes nothing, when an instance got the key
 * while this transaction waited for the lock. The caller retries and locks that instance, too.
 */
async function deleteIn(tx: Transaction, actor: Actor, id: number): Promise<boolean> {
  const { at } = tx
  const { accountId, apiKeyId } = actor
  const instancesSql = instancesWithKeySql(actor, id)
  const locked = (await tx.query(sql`${instancesSql} FOR NO KEY UPDATE`, { id: int8 })).map(instance => instance.id)
  const [key] = await tx.query(
    sql`SELECT name, fingerprint FROM ssh_keys WHERE id = ${String(id)}::bigint AND account_id = ${accountId}
      AND deleted_at IS NULL FOR UPDATE`,
    { name: text, fingerprint: text },
  )
  if (!key) throw notFound('SshKey', id)
  const instances = (await tx.query(instancesSql, { id: int8 })).map(instance => instance.id)
  if (!instances.every(instanceId => locked.includes(instanceId))) return false
  await tx.prisma(prisma => prisma.sshKey.update({ where: { id }, data: { deletedAt: at }, select: { id: true } }))
  const before = { sshKeyId: id, ...key }
  await recordEvents(tx, [{ kind: 'SSH_KEY_DELETED', accountId, actor: apiKeyActor({ apiKeyId }), before }], at)
  await tx.prisma(prisma =>
    prisma.instanceSshKey.deleteMany({ where: { sshKeyId: id, instanceId: { in: instances } } }),
  )
  await recordKeysChanged(tx, actor, instances, { before: { sshKeyId: id } }, at)
  return true
}

/**
 * Attaches to each instance all keys of its account, for `writeTogether` in the transaction that creates the instances. The
 * share lock waits for deletions in progress, and delays new ones until the commit.
 */
export function sshKeyWrites(instances: readonly { id: bigint; accountId: number }[]): Record<string, Prisma.Sql> {
  if (instances.length === 0) return {}
  const [ids, accountIds] = [instances.map(({ id }) => String(id)), instances.map(({ accountId }) => accountId)]
  return {
    attachedKeys: sql`
      INSERT INTO instance_ssh_keys (instance_id, ssh_key_id)
      SELECT i.id, k.id FROM unnest(${ids}::bigint[], ${accountIds}::int[]) AS i(id, account_id)
      JOIN (
        SELECT id, account_id FROM ssh_keys WHERE account_id = ANY(${accountIds}::int[]) AND deleted_at IS NULL ORDER BY id FOR SHARE
      ) k ON k.account_id = i.account_id RETURNING 1`,
  }
}
