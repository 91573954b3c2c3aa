import { Prisma } from '../../../database/generated/client.ts'
import { int8, text } from '../../../database/row-types.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { type PublicKey, parsePublicKey, sshKeyName, sshKeyNameProblem } from '../../../domain/accounts/ssh-keys.ts'
import type { Actor } from '../../../domain/actor.ts'
import { DomainError, type Issue, invalidInput, joinIssues, notFound } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { authorize } from '../../authorize.ts'
import { isUniqueViolation } from '../../database-errors.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { instancesWithKeySql, recordKeysChanged } from './attach.ts'
import { fingerprintOf } from './create.ts'
import { findSshKeys, type SelectedSshKey, type SshKeySelect } from './ssh-keys.ts'

const { sql } = Prisma

/** An absent part stays as it is. */
type SshKeyChange = {
  name?: string | undefined
  publicKey?: string | undefined
  /** A comment in the new public key is the new name, unless there is a name. */
  takesComment?: boolean
  /** Problems that the face has found. */
  parseIssues?: Issue[]
}
type ParsedChange = { name?: string | undefined; key?: PublicKey }

export function sshKeyUpdateServices({ database }: Deps) {
  return {
    /**
     * Changes the name or the public key of a key; its id stays the same. Containers accept the new public key and no
     * longer the old one. A virtual machine keeps the old key, since Berth cannot change the machine from outside.
     */
    async update<Select extends SshKeySelect>(
      actor: Actor,
      id: number,
      input: SshKeyChange,
      select: Select,
    ): Promise<SelectedSshKey<Select>> {
      authorize(actor, 'sshKeys.replace', { id })
      const change = parseChange(input)
      const changing = async () => {
        for (;;) {
          const changed = await transaction(database, tx => updateIn(tx, actor, { id, change, select }))
          if (changed) return changed
        }
      }
      return await changing().catch(async (error: unknown) => {
        if (!change.key || !isUniqueViolation(error)) throw error
        throw await duplicateKeyError(actor, fingerprintOf(change.key.blob))
      })
    },
  }

  async function duplicateKeyError(actor: Actor, fingerprint: string): Promise<DomainError> {
    const [key] = await findSshKeys(database.prisma, actor, { fingerprint }, { id: true })
    const subject = key ? ({ type: 'SshKey', id: key.id } as const) : null
    return new DomainError('CONFLICT', 'The account already has this SSH key.', { subject })
  }
}

/** Throws every issue at once. */
function parseChange({ name, publicKey, takesComment = false, parseIssues }: SshKeyChange): ParsedChange {
  const key = publicKey === undefined ? undefined : parsePublicKey(publicKey)
  const nameProblem = name === undefined ? undefined : sshKeyNameProblem(name)
  const issues = joinIssues(parseIssues, [
    ...(typeof key === 'string' ? [{ path: 'publicKey', message: key }] : []),
    ...(nameProblem ? [{ path: 'name', message: nameProblem }] : []),
  ])
  if (issues.length > 0 || typeof key === 'string') throw invalidInput(issues)
  const comment = takesComment && key?.comment ? sshKeyName(undefined, key.comment) : undefined
  return { name: name ?? comment, ...(key && { key }) }
}

/**
 * Returns undefined when a container got the key while this transaction waited for the lock. The caller retries and
 * locks that container, too.
 */
async function updateIn<Select extends SshKeySelect>(
  tx: Transaction,
  actor: Actor,
  { id, change, select }: { id: number; change: ParsedChange; select: Select },
): Promise<SelectedSshKey<Select> | undefined> {
  const { at } = tx
  const { accountId, apiKeyId } = actor
  const instancesSql = instancesWithKeySql(actor, id)
  const locked = (await tx.query(sql`${instancesSql} FOR NO KEY UPDATE`, { id: int8 })).map(instance => instance.id)
  const [old] = await tx.query(
    sql`SELECT name, public_key, fingerprint FROM ssh_keys WHERE id = ${String(id)}::bigint
      AND account_id = ${accountId} AND deleted_at IS NULL FOR UPDATE`,
    { name: text, publicKey: text, fingerprint: text },
  )
  if (!old) throw notFound('SshKey', id)
  const instances = (await tx.query(instancesSql, { id: int8 })).map(instance => instance.id)
  if (!instances.every(instanceId => locked.includes(instanceId))) return undefined
  const read = async () => (await tx.prisma(prisma => findSshKeys(prisma, actor, { id }, select)))[0]
  const { name = old.name } = change
  const fingerprint = change.key ? fingerprintOf(change.key.blob) : old.fingerprint
  const isReplaced = fingerprint !== old.fingerprint
  const publicKey = (isReplaced && change.key?.publicKey) || old.publicKey
  if (!isReplaced && name === old.name) return await read()
  if (isReplaced) await keepOldKeyInVms(tx, id, at)
  const data = { name, publicKey, fingerprint }
  await tx.prisma(prisma => prisma.sshKey.update({ where: { id }, data, select: { id: true } }))
  const before = { sshKeyId: id, name: old.name, fingerprint: old.fingerprint }
  const after = { sshKeyId: id, name, fingerprint }
  await recordEvents(tx, [{ kind: 'SSH_KEY_UPDATED', accountId, actor: apiKeyActor({ apiKeyId }), before, after }], at)
  if (isReplaced) await recordKeysChanged(tx, actor, instances, { after: { sshKeyId: id } }, at)
  return await read()
}

/** Keeps the old key for virtual machines, as a deleted key. */
async function keepOldKeyInVms(tx: Transaction, id: number, at: Date): Promise<void> {
  const vmInstancesSql = sql`
    SELECT a.instance_id FROM instance_ssh_keys a JOIN instances i ON i.id = a.instance_id
    WHERE a.ssh_key_id = ${id} AND i.vm`
  await tx.execute(sql`
    WITH old AS (
      INSERT INTO ssh_keys (account_id, name, public_key, fingerprint, created_at, deleted_at)
      SELECT account_id, name, public_key, fingerprint, created_at, ${at} FROM ssh_keys
      WHERE id = ${id} AND EXISTS (${vmInstancesSql}) RETURNING id)
    UPDATE instance_ssh_keys SET ssh_key_id = old.id FROM old
    WHERE ssh_key_id = ${id} AND instance_id IN (${vmInstancesSql})`)
}
