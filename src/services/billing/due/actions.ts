// Performs due billing actions in small batches, so that locks are held briefly. The next pass does the rest.

import { Prisma } from '../../../database/generated/client.ts'
import type { Statements } from '../../../database/statements.ts'
import type { Transaction } from '../../../database/transaction.ts'
import { accountDisabled, disabledOf } from '../../../domain/accounts/disabled.ts'
import { type BillingAction, midnightBefore } from '../../../domain/billing/due.ts'
import { systemActor } from '../../../domain/events/actor.ts'
import type { Machine } from '../../../domain/machines/machines.ts'
import { deletionRefusal } from '../../../domain/volumes/volumes.ts'
import { applyPlans } from '../../instances/bulk/apply-plans.ts'
import { type LockedInstance, lockInstances } from '../../instances/lock.ts'
import { lockMachine } from '../../machines/lock.ts'
import { deleteVolume } from '../../volumes/delete.ts'
import { loadVolumeFacts } from '../../volumes/rent.ts'
import type { AccountBalance } from '../balance.ts'
import { chargeMeters } from '../meters.ts'
import { findInstanceIds, findInstancesToStop, findVolume } from './facts.ts'

const { sql } = Prisma

/** One transaction stops, destroys or charges at most this many instances or meters. */
const batchSize = 500

const existingInstancesSql = (accountId: number) => sql`i.account_id = ${accountId} AND i.destroyed_at IS NULL`

type ActionTargets = { instanceIds: bigint[]; volume?: { id: bigint; machineId: number } | undefined }

/** Chooses the rows that an action must lock before the account. */
export async function chooseTargets(
  database: Pick<Statements, 'query'>,
  account: AccountBalance,
  action: BillingAction | null,
): Promise<ActionTargets> {
  const { accountId } = account
  if (action === 'destroyInstances')
    return { instanceIds: await findInstanceIds(database, existingInstancesSql(accountId), batchSize) }
  if (action === 'deleteVolumes') return { instanceIds: [], volume: await findVolume(database, accountId) }
  if (action !== 'stop') return { instanceIds: [] }
  return { instanceIds: (await findInstancesToStop(database, accountId, batchSize)).map(({ id }) => id) }
}

type LockedTargets = { instances: LockedInstance[]; volume?: { id: bigint; machine: Machine } | undefined }

/** Locks the chosen rows that still exist: machines, instances and volumes. The caller locks the account after them. */
export async function lockTargets(
  tx: Transaction,
  accountId: number,
  { instanceIds, volume }: ActionTargets,
): Promise<LockedTargets> {
  const machine = volume && (await lockMachine(tx, volume.machineId))
  const instances = instanceIds.length > 0 ? await lockInstances(tx, instanceIds, accountId) : []
  if (!volume || !machine) return { instances }
  const [found] = await loadVolumeFacts(tx, { accountId }, [volume.id])
  return { instances, volume: found && !deletionRefusal(found) ? { id: volume.id, machine } : undefined }
}

/** Performs an action on its locked targets. Returns the ids of the machines whose markets must be updated. */
export async function performAction(
  tx: Transaction,
  account: AccountBalance,
  action: BillingAction | null,
  { instances, volume }: LockedTargets,
  at: Date,
): Promise<number[]> {
  switch (action) {
    case 'stop':
      return await stopInstances(tx, account, instances, at)
    case 'charge':
      await chargeDueMeters(tx, account)
      return []
    case 'destroyInstances':
      return await destroyInstances(tx, instances, at)
    case 'deleteVolumes':
      if (volume)
        await deleteVolume(
          tx,
          { accountId: account.accountId, actor: systemActor, reason: 'DEBT' },
          volume.machine,
          volume.id,
          at,
        )
      return []
    case null:
      return []
  }
}

async function stopInstances(
  tx: Transaction,
  { accountId }: AccountBalance,
  taken: LockedInstance[],
  at: Date,
): Promise<number[]> {
  const ids = taken.map(({ subject }) => subject.id)
  const perReason = Map.groupBy(await findInstancesToStop(tx, accountId, batchSize, ids), ({ reason }) => reason)
  const machines: number[] = []
  for (const [reason, instances] of perReason) {
    const steps = instances.map(({ id }) => ({ id, outcome: 'applied' as const, targetState: 'stopped' as const }))
    const message = reason === 'ACCOUNT_DISABLED' ? await loadDisabledMessage(tx, accountId) : undefined
    const cause = { actor: systemActor, reason, ...(message !== undefined && { message }) }
    machines.push(...(await applyPlans(tx, cause, steps, taken, at)))
  }
  return machines
}

/** What the renter reads; undefined if the account is enabled again. */
async function loadDisabledMessage(tx: Transaction, id: number): Promise<string | undefined> {
  const select = { disabledAt: true, disabledReason: true } as const
  const disabled = disabledOf(await tx.prisma(prisma => prisma.account.findUniqueOrThrow({ where: { id }, select })))
  return disabled ? accountDisabled(disabled).message : undefined
}

/** Charges ended meters, and running meters up to the last midnight. */
async function chargeDueMeters(tx: Transaction, account: AccountBalance): Promise<void> {
  const { accountId, at } = account
  await chargeMeters(
    tx,
    account,
    sql`m.id IN (SELECT e.meter_id FROM meter_ends e WHERE e.account_id = ${accountId} AND e.at <= ${at} LIMIT ${batchSize})`,
  )
  // A meter with two ends may be charged already; its second end is obsolete.
  await tx.execute(sql`
    DELETE FROM meter_ends e USING meters m WHERE m.id = e.meter_id AND e.account_id = ${accountId} AND m.rate_nanos = 0`)
  const midnight = midnightBefore(at)
  const first = sql`
    SELECT d.id FROM meters d WHERE d.account_id = ${accountId} AND d.rate_nanos > 0 AND d.since < ${midnight}
    ORDER BY d.since LIMIT ${batchSize}`
  await chargeMeters(tx, account, sql`m.id IN (${first})`, midnight)
}

const debtMessage = 'Destroyed: the account stayed in debt past the grace period.'

async function destroyInstances(tx: Transaction, taken: LockedInstance[], at: Date): Promise<number[]> {
  const ids = taken.filter(({ subject }) => !subject.destroyedAt).map(({ subject }) => subject.id)
  const steps = ids.map(id => ({ id, outcome: 'applied' as const, destroy: true as const }))
  return await applyPlans(tx, { actor: systemActor, reason: 'DEBT', message: debtMessage }, steps, taken, at)
}
