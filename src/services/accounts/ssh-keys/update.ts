import { Prisma } from '../../../database/generated/client.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import {
  type PublicKey,
  parsePublicKey,
  type SshKey,
  sshKeyName,
  sshKeyNameProblem,
} from '../../../domain/accounts/ssh-keys.ts'
import type { Actor } from '../../../domain/actor.ts'
import { DomainError, invalidInput, notFound } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { authorize } from '../../authorize.ts'
import { isUniqueViolation } from '../../database-errors.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { instancesWithKeySql, recordKeysChanged } from './attach.ts'
import { fingerprintOf } from './create.ts'

const { sql } = Prisma

/** An absent part stays as it is. */
type SshKeyChange = {
  name?: string | undefined
  publicKey?: string | undefined
  /** A comment in the new public key is the new name, unless there is a name. */
  takesComment?: boolean
}
type ParsedChange = { name?: string | undefined; key?: PublicKey }

export function sshKeyUpdateServices({ database }: Deps) {
  return {
    /**
     * Changes the name or the public key of a key; its id stays the same. Containers accept the new public key and no
     * longer the old one. A virtual machine keeps the old key, since Berth cannot change the machine from outside.
     */
    async update(actor: Actor, id: number, input: SshKeyChange): Promise<SshKey> {
      authorize(actor, 'sshKeys.replace', { id })
      const change = parseChange(input)
      const changing = async () => {
        for (;;) {
          const changed = await transaction(database, tx => updateIn(tx, actor, id, change))
          if (changed) return changed
        }
      }
      return await changing().catch(async (error: unknown) => {
        if (!change.key || !isUniqueViolation(error)) throw error
        throw await duplicateKeyError(actor, fingerprintOf(change.key.blob))
      })
    },
  }

  async function duplicateKeyError({ accountId }: Actor, fingerprint: string): Promise<DomainError> {
    const [row] = await database.rows(sql`
      SELECT id FROM ssh_keys WHERE account_id = ${accountId} AND fingerprint = ${fingerprint} AND deleted_at IS NULL`)
    const subject = row ? ({ type: 'SshKey', id: row[0] as number } as const) : null
    return new DomainError('CONFLICT', 'The account already has this SSH key.', { subject })
  }
}

/** Throws every issue at once. */
function parseChange({ name, publicKey, takesComment = false }: SshKeyChange): ParsedChange {
  const key = publicKey === undefined ? undefined : parsePublicKey(publicKey)
  const nameProblem = name === undefined ? undefined : sshKeyNameProblem(name)
  const issues = [
    ...(typeof key === 'string' ? [{ path: 'publicKey', message: key }] : []),
    ...(nameProblem ? [{ path: 'name', message: nameProblem }] : []),
  ]
  if (issues.length > 0 || typeof key === 'string') throw invalidInput(issues)
  const comment = takesComment && key?.comment ? sshKeyName(undefined, key.comment) : undefined
  return { name: name ?? comment, ...(key && { key }) }
}

/**
 * Returns undefined when a container got the key while this transaction waited for the lock. The caller retries and
 * locks that container, too.
 */
async function updateIn(tx: Transaction, actor: Actor, id: number, change: ParsedChange): Promise<SshKey | undefined> {
  const { at } = tx
  const { accountId, apiKeyId } = actor
  const instancesSql = instancesWithKeySql(actor, id)
  const locked = (await tx.rows(sql`${instancesSql} FOR NO KEY UPDATE`)).map(([instanceId]) => instanceId)
  const [key] = await tx.rows(sql`
    SELECT name, public_key, fingerprint, created_at FROM ssh_keys WHERE id = ${String(id)}::bigint
    AND account_id = ${accountId} AND deleted_at IS NULL FOR UPDATE`)
  if (!key) throw notFound('SshKey', id)
  const instances = (await tx.rows(instancesSql)).map(([instanceId]) => instanceId as bigint)
  if (!instances.every(instanceId => locked.includes(instanceId))) return undefined
  const [oldName, oldPublicKey, oldFingerprint, createdAt] = key as [string, string, string, Date]
  const { name = oldName } = change
  const fingerprint = change.key ? fingerprintOf(change.key.blob) : oldFingerprint
  const isReplaced = fingerprint !== oldFingerprint
  const publicKey = (isReplaced && change.key?.publicKey) || oldPublicKey
  const sshKey = { id, name, publicKey, fingerprint, createdAt }
  if (!isReplaced && name === oldName) return sshKey
  if (isReplaced) await keepOldKeyInVms(tx, id, at)
  await tx.rows(sql`
    UPDATE ssh_keys SET name = ${name}, public_key = ${publicKey}, fingerprint = ${fingerprint} WHERE id = ${id}`)
  const before = { sshKeyId: id, name: oldName, fingerprint: oldFingerprint }
  const after = { sshKeyId: id, name, fingerprint }
  await recordEvents(tx, [{ kind: 'SSH_KEY_UPDATED', accountId, actor: apiKeyActor({ apiKeyId }), before, after }], at)
  if (isReplaced) await recordKeysChanged(tx, actor, instances, { after: { sshKeyId: id } }, at)
  return sshKey
}

/** Keeps the old key for virtual machines, as a deleted key. */
async function keepOldKeyInVms(tx: Transaction, id: number, at: Date): Promise<void> {
  const vmInstancesSql = sql`
    SELECT a.instance_id FROM instance_ssh_keys a JOIN instances i ON i.id = a.instance_id
    WHERE a.ssh_key_id = ${id} AND i.vm`
  await tx.rows(sql`
    WITH old AS (
      INSERT INTO ssh_keys (account_id, name, public_key, fingerprint, created_at, deleted_at)
      SELECT account_id, name, public_key, fingerprint, created_at, ${at} FROM ssh_keys
      WHERE id = ${id} AND EXISTS (${vmInstancesSql}) RETURNING id)
    UPDATE instance_ssh_keys SET ssh_key_id = old.id FROM old
    WHERE ssh_key_id = ${id} AND instance_id IN (${vmInstancesSql})`)
}
