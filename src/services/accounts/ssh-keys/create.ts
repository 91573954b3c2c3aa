import { createHash } from 'node:crypto'
import { Prisma } from '../../../database/generated/client.ts'
import { int4, nullable } from '../../../database/row-types.ts'
import type { Transaction } from '../../../database/transaction.ts'
import {
  maxSshKeys,
  type PublicKey,
  parsePublicKey,
  sshKeyName,
  sshKeyNameProblem,
} from '../../../domain/accounts/ssh-keys.ts'
import type { Actor } from '../../../domain/actor.ts'
import { DomainError, type Issue, invalidInput, itemGone, joinIssues } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { maxIdsPerCommand } from '../../../domain/instances/command.ts'
import { authorize, authorizeEach } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { runAndRead } from '../../idempotency.ts'
import { attachToInstances, lockSshInstances } from './attach.ts'
import { findSshKeys, type SelectedSshKey, type SshKeySelect } from './ssh-keys.ts'

const { sql } = Prisma

type SshKeyInput = {
  /** Defaults to the key's comment. */
  name?: string | undefined
  /** One line of a .pub file. */
  publicKey: string
  /** Containers to attach the key to at once. */
  instanceIds?: readonly bigint[] | undefined
  /** Problems that the face has found. */
  parseIssues?: Issue[] | undefined
  idempotencyKey?: string | null | undefined
}

export function createSshKeyServices(deps: Deps) {
  return {
    /**
     * Adds a key to the account. New rentals get the key; existing instances get it only if `instanceIds` names them.
     */
    async create<Select extends SshKeySelect>(
      actor: Actor,
      newKey: SshKeyInput,
      select: Select,
    ): Promise<{ sshKey: SelectedSshKey<Select>; replayed: boolean }> {
      authorize(actor, 'sshKeys.register')
      const { idempotencyKey, instanceIds = [] } = newKey
      if (instanceIds.length > 0) authorizeEach(actor, 'instances.attachSshKey', instanceIds)
      const { key, name } = parseSshKeyInput(newKey)
      const instances = [...new Set(instanceIds)].toSorted((a, b) => Number(a - b))
      const input = { name, publicKey: key.publicKey, instances }
      const request = { operation: 'sshKeys.register' as const, input, idempotencyKey }
      const work = async (tx: Transaction) => {
        // Lock order: instances before keys, as in every transaction that locks both.
        const { at } = tx
        await lockSshInstances(tx, actor, instances)
        const id = await insert(tx, actor, key, name, at)
        await attachToInstances(tx, actor, instances, id, at)
        return { id }
      }
      const read = async (tx: Transaction, { id }: { id: number }) => {
        const [sshKey] = await tx.prisma(prisma => findSshKeys(prisma, actor, { id }, select))
        if (!sshKey) throw itemGone('SshKey', id)
        return sshKey
      }
      const { answer, replayed } = await runAndRead(deps, actor, request, { work, read })
      return { sshKey: answer, replayed }
    },
  }

  /**
   * Inserts the key. Locks the account first, so that concurrent registrations can neither add a key twice nor exceed
   * the limit.
   */
  async function insert(tx: Transaction, actor: Actor, key: PublicKey, name: string, at: Date): Promise<number> {
    const { accountId, apiKeyId } = actor
    const { publicKey, blob } = key
    const fingerprint = fingerprintOf(blob)
    await tx.execute(sql`SELECT FROM accounts WHERE id = ${accountId} FOR NO KEY UPDATE`)
    const [inserted] = await tx.query(
      sql`INSERT INTO ssh_keys (account_id, name, public_key, fingerprint, created_at)
        VALUES (${accountId}, ${name}, ${publicKey}, ${fingerprint}, ${at})
        ON CONFLICT (account_id, fingerprint) WHERE deleted_at IS NULL DO NOTHING RETURNING id`,
      { id: int4 },
    )
    const [{ total, known } = { total: 0, known: null }] = await tx.query(
      sql`SELECT count(*)::int AS total, min(id) FILTER (WHERE fingerprint = ${fingerprint}) AS known FROM ssh_keys
        WHERE account_id = ${accountId} AND deleted_at IS NULL`,
      { total: int4, known: nullable(int4) },
    )
    if (!inserted) {
      const subject = known === null ? null : ({ type: 'SshKey', id: known } as const)
      throw new DomainError('CONFLICT', 'The account already has this SSH key.', { subject })
    }
    if (total > maxSshKeys) {
      throw new DomainError('CONFLICT', `An account has at most ${maxSshKeys} SSH keys. Delete one first.`, {
        subject: null,
      })
    }
    const { id } = inserted
    const after = { sshKeyId: id, name, fingerprint }
    await recordEvents(tx, [{ kind: 'SSH_KEY_CREATED', accountId, actor: apiKeyActor({ apiKeyId }), after }], at)
    return id
  }
}

/** The fingerprint of a key, as ssh-keygen prints it. */
export function fingerprintOf(blob: Uint8Array): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
}

/** Parses the input, or throws every issue at once. */
function parseSshKeyInput({ name, publicKey, instanceIds = [], parseIssues }: SshKeyInput): {
  key: PublicKey
  name: string
} {
  const issues: Issue[] = []
  const key = parsePublicKey(publicKey)
  if (typeof key === 'string') issues.push({ path: 'publicKey', message: key })
  const problem = name === undefined ? undefined : sshKeyNameProblem(name)
  if (problem) issues.push({ path: 'name', message: problem })
  if (instanceIds.length > maxIdsPerCommand) {
    issues.push({
      path: 'instanceIds',
      message: `must have at most ${maxIdsPerCommand} ids, not ${instanceIds.length}.`,
    })
  }
  const all = joinIssues(parseIssues, issues)
  if (all.length > 0 || typeof key === 'string') throw invalidInput(all)
  return { key, name: sshKeyName(name, key.comment) }
}
