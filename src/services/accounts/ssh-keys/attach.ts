// Attaches SSH keys to rented containers, and detaches them.

import { Prisma } from '../../../database/generated/client.ts'
import { bool, enumeration, int8, jsonb, nullable, timestamptz } from '../../../database/row-types.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { sshKeysProblem } from '../../../domain/accounts/ssh-keys.ts'
import type { Actor } from '../../../domain/actor.ts'
import { invalidState, notFound } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { requireLiving } from '../../../domain/instances/actions.ts'
import type { LaunchConfig } from '../../../domain/instances/instances.ts'
import type { InstanceStatus } from '../../../domain/instances/states.ts'
import { authorize } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { makeInstancesDue } from '../../reconciliation/due.ts'

const { sql } = Prisma

/** `unchanged` when the key already was attached, or already was detached. */
type AttachOutcome = 'applied' | 'unchanged'

export function attachServices({ database }: Deps) {
  return {
    /** Attaches a key to a container, even while the container runs. */
    async attach(actor: Actor, instanceId: bigint, sshKeyId: number): Promise<AttachOutcome> {
      authorize(actor, 'instances.attachSshKey', { id: Number(instanceId) })
      return await changeAttachment(actor, instanceId, sshKeyId, async tx => {
        const attached = await attachToInstances(tx, actor, [instanceId], sshKeyId, tx.at)
        return attached.length > 0
      })
    },

    /** Detaches a key. The gateway ends its SSH sessions; those at a public port stay open. */
    async detach(actor: Actor, instanceId: bigint, sshKeyId: number): Promise<AttachOutcome> {
      authorize(actor, 'instances.detachSshKey', { id: Number(instanceId) })
      return await changeAttachment(actor, instanceId, sshKeyId, async tx => {
        const { count } = await tx.prisma(prisma =>
          prisma.instanceSshKey.deleteMany({ where: { instanceId, sshKeyId } }),
        )
        if (count > 0) await recordKeysChanged(tx, actor, [instanceId], { before: { sshKeyId } }, tx.at)
        return count > 0
      })
    },
  }

  async function changeAttachment(
    actor: Actor,
    instanceId: bigint,
    sshKeyId: number,
    work: (tx: Transaction) => Promise<boolean>,
  ): Promise<AttachOutcome> {
    const changed = await transaction(database, async tx => {
      await lockSshInstances(tx, actor, [instanceId])
      // Locked, so that the key is not deleted meanwhile.
      const found = await tx.execute(sql`
        SELECT FROM ssh_keys WHERE id = ${String(sshKeyId)}::bigint AND account_id = ${actor.accountId}
        AND deleted_at IS NULL FOR SHARE`)
      if (found === 0) throw notFound('SshKey', sshKeyId)
      return await work(tx)
    })
    return changed ? 'applied' : 'unchanged'
  }
}

/** Locks the instances. Throws unless the SSH keys of every instance can be changed. */
export async function lockSshInstances(tx: Transaction, { accountId }: Actor, ids: readonly bigint[]): Promise<void> {
  if (ids.length === 0) return
  const rows = await tx.query(
    sql`SELECT id, vm, launch -> 'mode' AS mode, status, destroyed_at FROM instances
      WHERE id = ANY(${ids.map(String)}::bigint[]) AND account_id = ${accountId} ORDER BY id FOR NO KEY UPDATE`,
    {
      id: int8,
      vm: bool,
      mode: jsonb<LaunchConfig['mode']>(),
      status: enumeration<InstanceStatus>(),
      destroyedAt: nullable(timestamptz),
    },
  )
  const found = new Map(rows.map(row => [row.id, row]))
  for (const id of ids) {
    const refusal = sshKeysProblem(requireLiving(id, found.get(id)))
    if (refusal) throw invalidState(id, refusal)
  }
}

/** The containers that have this key, in the order in which they are locked. */
export function instancesWithKeySql({ accountId }: Actor, sshKeyId: number): Prisma.Sql {
  return sql`
    SELECT id FROM instances
    WHERE id IN (SELECT instance_id FROM instance_ssh_keys WHERE ssh_key_id = ${String(sshKeyId)}::bigint)
    AND account_id = ${accountId} AND NOT vm AND destroyed_at IS NULL ORDER BY id`
}

/** Attaches a key to locked instances. Returns the instances that did not have the key before. */
export async function attachToInstances(
  tx: Transaction,
  actor: Actor,
  ids: readonly bigint[],
  sshKeyId: number,
  at: Date,
): Promise<bigint[]> {
  if (ids.length === 0) return []
  const rows = await tx.query(
    sql`INSERT INTO instance_ssh_keys (instance_id, ssh_key_id)
      SELECT id, ${sshKeyId} FROM unnest(${ids.map(String)}::bigint[]) AS t(id)
      ON CONFLICT DO NOTHING RETURNING instance_id`,
    { instanceId: int8 },
  )
  const attached = rows.map(({ instanceId }) => instanceId)
  await recordKeysChanged(tx, actor, attached, { after: { sshKeyId } }, at)
  return attached
}

/** Records the events, and makes the reconciler apply the changed keys. */
export async function recordKeysChanged(
  tx: Transaction,
  { accountId, apiKeyId }: Actor,
  ids: readonly bigint[],
  change: { before: { sshKeyId: number } } | { after: { sshKeyId: number } },
  at: Date,
): Promise<void> {
  if (ids.length === 0) return
  await makeInstancesDue(tx, ids, at)
  const event = {
    kind: 'INSTANCE_SSH_KEYS_CHANGED' as const,
    accountId,
    actor: apiKeyActor({ apiKeyId }),
    reason: 'USER_REQUEST' as const,
    ...change,
  }
  await recordEvents(
    tx,
    ids.map(instanceId => ({ ...event, instanceId })),
    at,
  )
}
