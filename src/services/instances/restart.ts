import { Prisma } from '../../database/generated/client.ts'
import { enumeration, nullable, timestamptz } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { notFound } from '../../domain/errors.ts'
import { apiKeyActor } from '../../domain/events/actor.ts'
import { requireAction } from '../../domain/instances/actions.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import type { InstanceStatus, Restart, RestartKind, TargetState } from '../../domain/instances/states.ts'
import { authorize } from '../authorize.ts'
import { lockAccount } from '../billing/balance.ts'
import type { Deps } from '../deps.ts'
import { recordEvents } from '../events/events.ts'
import { runIdempotent } from '../idempotency.ts'
import { makeInstancesDue } from '../reconciliation/due.ts'
import { admitRestart } from './admission.ts'
import { bindMissingPorts, lockMissingPorts } from './ports.ts'
import { findInstances } from './read.ts'

const { sql } = Prisma

const restartEvents = { reboot: 'INSTANCE_REBOOTED', recycle: 'INSTANCE_RECYCLED' } as const

export function restartServices(deps: Deps) {
  return {
    /** Stops a running instance's container and starts it again. GPUs, ports and disk are kept. */
    reboot: (actor: Actor, id: bigint, idempotencyKey?: string | null) => restart(actor, id, 'reboot', idempotencyKey),

    /** Removes an instance's container and makes it anew from its image. The disk is lost; volumes are kept. */
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
    authorize(actor, operation, { id: Number(id) })
    const request = { operation, input: { id }, idempotencyKey }
    const { replayed } = await runIdempotent(deps, actor, request, async tx => {
      await requestRestart(tx, deps, actor, id, kind)
      return {}
    })
    const [instance] = await findInstances(deps, [sql`i.id = ${id}`], sql`i.id`, 1)
    return { instance: instance as Instance, replayed }
  }
}

/** Records the restart for the reconciler. A recycled container also gets the ports that it lacks for SSH. */
async function requestRestart(
  tx: Transaction,
  deps: Deps,
  { accountId, apiKeyId }: Actor,
  id: bigint,
  kind: RestartKind,
): Promise<void> {
  const missing = kind === 'recycle' ? await lockMissingPorts(tx, deps, accountId, id) : undefined
  const { at } = tx
  const [row] = await tx.query(
    sql`
      SELECT target_state, status, destroyed_at, restart, started_at FROM instances
      WHERE id = ${id} AND account_id = ${accountId} FOR NO KEY UPDATE`,
    {
      ...{ targetState: enumeration<TargetState>(), status: enumeration<InstanceStatus>() },
      ...{ destroyedAt: nullable(timestamptz), restart: nullable(enumeration<Restart>()) },
      startedAt: nullable(timestamptz),
    },
  )
  if (!row) throw notFound('Instance', id)
  if (!requireAction(kind, id, row)) return
  if (missing) await bindMissingPorts(tx, missing, id)
  if (kind === 'recycle') {
    const account = await lockAccount(tx, accountId, at)
    await admitRestart(tx, deps.admission, account, { id, ...row })
  }
  await tx.execute(sql`
    UPDATE instances SET restart = ${kind}::restart WHERE id = ${id}`)
  await makeInstancesDue(tx, [id], at)
  await recordEvents(
    tx,
    [
      {
        kind: restartEvents[kind],
        accountId,
        actor: apiKeyActor({ apiKeyId }),
        instanceId: id,
        reason: 'USER_REQUEST',
      },
    ],
    at,
  )
}
