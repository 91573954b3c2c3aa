import { Prisma } from '../../database/generated/client.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { notFound } from '../../domain/errors.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import { applyRestart, type Restartable } from '../../domain/instances/restart.ts'
import type { RestartKind } from '../../domain/instances/states.ts'
import { authorise } from '../authorize.ts'
import { lockBalance } from '../billing/balance.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { once } from '../idempotency.ts'
import { admitRestart } from './admission.ts'
import { bindMissingPorts, lockMissingPorts } from './ports.ts'
import { findInstances } from './read.ts'

const { sql } = Prisma

const events = { reboot: 'INSTANCE_REBOOTED', recycle: 'INSTANCE_RECYCLED' } as const

export function restartServices(deps: Deps) {
  return {
    /** Stops a running instance's container and starts it again. Its GPUs, its ports and its disk stay its own. */
    reboot: (actor: Actor, id: bigint, idempotencyKey?: string | null) => restart(actor, id, 'reboot', idempotencyKey),

    /** Removes an instance's container, and makes it anew from its image. Its disk is lost but for its volumes. */
    recycle: (actor: Actor, id: bigint, idempotencyKey?: string | null) =>
      restart(actor, id, 'recycle', idempotencyKey),
  }

  async function restart(
    actor: Actor,
    id: bigint,
    kind: RestartKind,
    idempotencyKey: string | null | undefined,
  ): Promise<{ instance: Instance; replayed: boolean }> {
    const operation = `instances.${kind}` as const
    authorise(actor, operation, { id: Number(id) })
    const request = { operation, input: { id }, idempotencyKey }
    const { replayed } = await once(deps, actor, request, async tx => {
      await askRestart(tx, deps, actor, id, kind)
      return {}
    })
    const [instance] = await findInstances(deps, [sql`i.id = ${id}`], sql`i.id`, 1)
    return { instance: instance as Instance, replayed }
  }
}

/** Writes what is asked; the reconciler does it. A container that is made anew gets the ports that it lacks for SSH. */
async function askRestart(
  tx: Transaction,
  deps: Deps,
  { accountId, apiKeyId }: Actor,
  id: bigint,
  kind: RestartKind,
): Promise<void> {
  const missing = kind === 'recycle' ? await lockMissingPorts(tx, deps, accountId, id) : undefined
  const { at } = tx
  const [row] = await tx.rows(sql`
    SELECT target_state, status, interruptible, restart, started_at IS NOT NULL FROM instances
    WHERE id = ${id} AND account_id = ${accountId} AND destroyed_at IS NULL FOR NO KEY UPDATE`)
  if (!row) throw notFound('Instance', id)
  const [targetState, status, interruptible, restart, hasRun] = row
  const asked = applyRestart({ id, targetState, status, interruptible, restart, hasRun } as Restartable, kind)
  if (!asked) return
  if (missing) await bindMissingPorts(tx, missing, id)
  if (asked === 'recycle') {
    const account = await lockBalance(tx, accountId, at)
    await admitRestart(tx, deps.admission, account, { id, targetState, status } as Restartable)
  }
  await tx.rows(sql`
    UPDATE instances SET restart = ${asked}::restart, generation = generation + 1, due_at = ${at} WHERE id = ${id}`)
  await recordEvents(tx, [{ type: events[kind], accountId, apiKeyId, instanceId: id, reason: 'USER_REQUEST' }], at)
}
