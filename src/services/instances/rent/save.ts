// Writes rentals, in one transaction with their machines locked.

import { Prisma } from '../../../database/generated/client.ts'
import { insertSql, modelColumnsOf } from '../../../database/rows.ts'
import { inOrder, joinWrites, type Writes, writeTogether } from '../../../database/together.ts'
import type { Transaction } from '../../../database/transaction.ts'
import { hasSshAccess } from '../../../domain/accounts/ssh-keys.ts'
import { apiKeyActor, systemActor } from '../../../domain/events/actor.ts'
import { changedPolicyFields, mergePolicy, policyEventDetails } from '../../../domain/instances/policy/change.ts'
import { noPolicy } from '../../../domain/instances/policy/policy.ts'
import { sshKeyWrites } from '../../accounts/ssh-keys/ssh-keys.ts'
import { lockAccountWrites } from '../../billing/balance.ts'
import { instanceMeterWrites, openVolumeMeters } from '../../billing/meters.ts'
import { eventWrites, type NewEvent, notifyOfEvents } from '../../events/events.ts'
import { capacityWrites, updateMarket } from '../../machines/market.ts'
import { grantChanges, grantEvent, holderWrites, offerWrites } from '../../machines/market-writes.ts'
import type { Secrets } from '../../secrets.ts'
import { attachVolumes, createMountedVolumes } from '../../volumes/rent.ts'
import { lockLivingInstances } from '../lock.ts'
import { portWrites } from '../ports.ts'
import { instanceRow, type Saving } from './instance-row.ts'

const { sql } = Prisma
const instanceColumns = modelColumnsOf(Prisma.InstanceScalarFieldEnum)

/** Whether the rental takes GPUs from another instance, or gives it some. */
export function changesOthers({ market }: Pick<Saving, 'market'>): boolean {
  return grantChanges(market).some(({ claim }) => claim !== market.claim)
}

/**
 * Writes rentals on different machines in one statement, and then, if they have them, their volumes, and what they change for
 * other instances. `others` are writes to send along. `check` checks all that is written. Returns how many SSH keys were attached,
 * and what the check returned.
 */
export async function saveRentals<Checked>(
  tx: Transaction,
  secrets: Secrets,
  savings: readonly Saving[],
  { others, check }: { others: Writes; check: () => Promise<Checked> },
): Promise<{ attachedKeys: number; checked: Checked }> {
  const { at } = tx
  const displacing = savings.filter(changesOthers)
  // Instances that win or lose their GPUs must be locked before the accounts, which this statement writes, and before `gpus`.
  for (const { market } of displacing) await lockLivingInstances(tx, market.machine.id)
  const markets = savings.filter(saving => !displacing.includes(saving)).map(({ market }) => market)
  const rows = savings.map(saving => instanceRow(secrets, saving, at))
  const accountIds = [...new Set(rows.map(({ accountId }) => accountId))]
  const withSsh = savings.flatMap(({ actor, rental, locked }) =>
    hasSshAccess(rental.launch) ? [{ id: locked.instanceId, accountId: actor.accountId }] : [],
  )
  const writing = writeTogether(
    tx,
    {
      withdrawn: withdrawSql(savings, at),
      instances: sql`${insertSql('instances', instanceColumns, rows)} RETURNING 1`,
    },
    capacityWrites(savings.map(({ market }) => market.machine)),
    portWrites(savings.map(bindingsOf)),
    markets.length > 0 ? joinWrites(holderWrites(markets), offerWrites(markets, at)) : {},
    sshKeyWrites(withSsh),
    eventWrites(savings.flatMap(eventsOf), at),
    lockAccountWrites(accountIds, at),
    instanceMeterWrites(rows, at),
    others,
  )
  // The write has locked the accounts. If nothing else is to be written, the check goes right behind it.
  const isWhole = displacing.length === 0 && !savings.some(hasVolumes)
  const [written, early] = isWhole ? await inOrder([writing, check()]) : [await writing]
  if (written['withdrawn'] !== savings.length) throw new Error('An offer was changed without a lock on its machine.')
  notifyOfEvents(tx, written)
  tx.notifyAfterCommit('instances')
  if (written['accountDue']) tx.notifyAfterCommit('billing')
  if (rows.some(({ policyDueAt }) => policyDueAt !== null && policyDueAt <= at)) tx.notifyAfterCommit('policies')
  for (const { market } of displacing) await updateMarket(tx, market.machine, at)
  for (const saving of savings.filter(hasVolumes)) await saveVolumes(tx, saving)
  return { attachedKeys: written['attachedKeys'] ?? 0, checked: early ?? (await check()) }
}

/** Under the machine's lock an offer cannot have changed. The condition catches a caller without the lock. */
function withdrawSql(savings: readonly Saving[], at: Date): Prisma.Sql {
  return sql`
    UPDATE offers SET rentable = false, withdrawn_at = ${at}
    WHERE id = ANY(${savings.map(({ rental }) => String(rental.offer.id))}::bigint[]) AND withdrawn_at IS NULL AND rentable RETURNING 1`
}

function bindingsOf({ rental: { machine, ports }, locked: { instanceId, boundPorts: bound } }: Saving) {
  return { machine, instanceId, ports, bound }
}

/** The event of the new instance, and that of its GPUs unless a market update follows. */
function eventsOf(saving: Saving): NewEvent[] {
  const { actor, market, locked } = saving
  const created = { ...createdEvent(saving), instanceId: locked.instanceId }
  const granted = changesOthers(saving) ? [] : grantChanges(market)
  return [created, ...granted.map(change => grantEvent(change, actor.accountId))]
}

function hasVolumes({ rental: { launch } }: Saving): boolean {
  return launch.volumes.length + launch.newVolumes.length > 0
}

/** Makes the new volumes and opens their meters, and attaches all volumes. */
async function saveVolumes(tx: Transaction, { actor, rental, locked }: Saving): Promise<void> {
  const { at } = tx
  const { accountId, apiKeyId } = actor
  const { launch, machine } = rental
  const { instanceId } = locked
  const added =
    launch.newVolumes.length > 0 ? await createMountedVolumes(tx, actor, machine, launch.newVolumes, at) : []
  const mounts = [...launch.volumes, ...added]
  await attachVolumes(tx, { id: instanceId, machineId: machine.id, accountId }, mounts)
  const addedIds = added.map(({ volumeId }) => volumeId)
  if (addedIds.length > 0) await openVolumeMeters(tx, { accountId, apiKeyId, since: at }, addedIds)
}

/** The event of a new instance. It contains only settings that are not secret. */
function createdEvent({ actor: { accountId, apiKeyId }, rental }: Pick<Saving, 'actor' | 'rental'>) {
  const { input, template, launch, offer, machine, gpuPriceNanos } = rental
  const { image, mode, label, diskMb, targetState } = launch
  const [offerId, price] = [String(offer.id), String(gpuPriceNanos)]
  const settings = { image, mode, label, diskMb, targetState, templateHash: template?.hash ?? null }
  const policy = mergePolicy(input.policy ?? {})
  const policyDetails = policyEventDetails(policy, changedPolicyFields(policy, noPolicy))
  const after = { ...settings, offerId, machineId: machine.id, gpuPriceNanos: price, ...policyDetails }
  const about = { kind: 'INSTANCE_CREATED' as const, accountId }
  const replaced = input.replacement?.replaced
  if (replaced)
    return {
      ...about,
      actor: systemActor,
      after: { ...after, replaces: String(replaced.id) },
      reason: 'REPLACED' as const,
    }
  return { ...about, actor: apiKeyActor({ apiKeyId }), after, reason: 'USER_REQUEST' as const }
}
