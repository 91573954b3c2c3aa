// Writes a rental, in one transaction with the machine locked.

import { Prisma } from '../../../database/generated/client.ts'
import { insertSql, modelColumnsOf } from '../../../database/rows.ts'
import { inOrder, joinWrites, writeTogether } from '../../../database/together.ts'
import type { Transaction } from '../../../database/transaction.ts'
import { hasSshAccess } from '../../../domain/accounts/ssh-keys.ts'
import type { Actor } from '../../../domain/actor.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { changedPolicyFields, mergePolicy, policyEventDetails } from '../../../domain/instances/policy/change.ts'
import { nextPolicyAction, noPolicy } from '../../../domain/instances/policy/policy.ts'
import type { RentInput, TargetOffer } from '../../../domain/instances/rent/decide.ts'
import { type Port, splitSecrets } from '../../../domain/launch/env.ts'
import type { Launch } from '../../../domain/launch/launch.ts'
import type { Machine } from '../../../domain/machines/machines.ts'
import { type Claim, selectGranted } from '../../../domain/machines/market.ts'
import { diskPricePerHour } from '../../../domain/money.ts'
import { newVolumesMb } from '../../../domain/volumes/mount.ts'
import { sshKeyWrites } from '../../accounts/ssh-keys/ssh-keys.ts'
import { lockAccountWrites } from '../../billing/balance.ts'
import { instanceMeterWrites, openVolumeMeters } from '../../billing/meters.ts'
import { eventWrites, notifyOfEvents } from '../../events/events.ts'
import { capacityWrites, updateMarket } from '../../machines/market.ts'
import { grantChanges, grantEvent, holderWrites, type Market, offerWrites } from '../../machines/market-writes.ts'
import { type Secrets, sealJson } from '../../secrets.ts'
import { attachVolumes, createMountedVolumes } from '../../volumes/rent.ts'
import { lockLivingInstances } from '../lock.ts'
import { portWrites } from '../ports.ts'
import type { LockedMarket } from './facts.ts'

const { sql } = Prisma
const instanceColumns = modelColumnsOf(Prisma.InstanceScalarFieldEnum)

/** A rental without blockers. */
export type DecidedRental = {
  input: RentInput
  template: { id: number; hash: string } | undefined
  launch: Launch
  /** The public ports to bind. */
  ports: Port[]
  offer: TargetOffer
  machine: Machine
  gpuPriceNanos: bigint
  idempotencyKey: string | null
}

/** The market with the rental. Its claim is missing if the instance should not run. */
export type RentalMarket = Market & { claim: Claim | undefined }

/** Decides who gets the GPUs, before anything is written. */
export function marketWithRental(
  { launch, input, offer, machine, gpuPriceNanos, ports }: DecidedRental,
  { claims, offers, instanceId }: LockedMarket,
  at: Date,
): RentalMarket {
  const { firstGpu, numGpus } = offer
  const { interruptible } = input.terms
  const wanted = { instanceId, firstGpu, numGpus, interruptible, gpuPriceNanos, claimedAt: at, holdsGpus: false }
  const claim = launch.targetState === 'running' ? wanted : undefined
  const allClaims = claim ? [...claims, claim] : claims
  const machineAfter = {
    ...machine,
    freeDiskMb: machine.freeDiskMb - launch.diskMb - newVolumesMb(launch.newVolumes),
    freePorts: machine.freePorts - ports.length,
  }
  const others = offers.filter(({ id }) => id !== offer.id)
  return { machine: machineAfter, claims: allClaims, granted: selectGranted(allClaims), offers: others, claim }
}

type Saving<Checked> = {
  market: RentalMarket
  locked: LockedMarket
  /** Writes to send along. */
  others: Record<string, Prisma.Sql>
  /** Checks all that is written. */
  check(): Promise<Checked>
}

/**
 * Writes the rental in one statement, and then, if it has them, its volumes, and what it changes for other instances. Returns
 * how many SSH keys were attached, and what the check returned.
 */
export async function saveRental<Checked>(
  tx: Transaction,
  secrets: Secrets,
  actor: Actor,
  rental: DecidedRental,
  { market, locked, others, check }: Saving<Checked>,
): Promise<{ attachedKeys: number; checked: Checked }> {
  const { at } = tx
  const { accountId, apiKeyId } = actor
  const { offer, launch, ports } = rental
  const { instanceId } = locked
  const changes = grantChanges(market)
  // Instances that win or lose their GPUs must be locked before the account, which this statement writes, and before `gpus`.
  const changesOthers = changes.some(({ claim }) => claim !== market.claim)
  if (changesOthers) await lockLivingInstances(tx, market.machine.id)
  const granted = changesOthers ? [] : changes
  const row = instanceRow(secrets, actor, rental, { instanceId, at })
  const meters = { accountId, apiKeyId, since: at }
  const writing = writeTogether(
    tx,
    {
      withdrawn: withdrawSql(offer.id, at),
      instance: sql`${insertSql('instances', instanceColumns, [row])} RETURNING 1`,
    },
    capacityWrites(market.machine),
    portWrites(rental.machine, instanceId, { ports, bound: locked.boundPorts }),
    changesOthers ? {} : joinWrites(holderWrites([market]), offerWrites([market], at)),
    hasSshAccess(launch) ? sshKeyWrites(accountId, instanceId) : {},
    eventWrites(
      [{ ...createdEvent(actor, rental), instanceId }, ...granted.map(change => grantEvent(change, accountId))],
      at,
    ),
    lockAccountWrites(accountId, at),
    instanceMeterWrites(meters, row),
    others,
  )
  // The write has locked the account. If nothing else is to be written, the check goes right behind it.
  const isWhole = !changesOthers && launch.volumes.length + launch.newVolumes.length === 0
  const [written, early] = isWhole ? await inOrder([writing, check()]) : [await writing]
  if (written['withdrawn'] !== 1) throw new Error(`Offer ${offer.id} was changed without a lock on its machine.`)
  notifyOfEvents(tx, written)
  tx.notifyAfterCommit('instances')
  if (written['accountDue']) tx.notifyAfterCommit('billing')
  if (row.policyDueAt !== null && row.policyDueAt <= at) tx.notifyAfterCommit('policies')
  if (changesOthers) await updateMarket(tx, market.machine, at)
  await saveVolumes(tx, actor, rental, instanceId)
  return { attachedKeys: written['attachedKeys'] ?? 0, checked: early ?? (await check()) }
}

/** Under the machine's lock the offer cannot have changed. The condition catches a caller without the lock. */
function withdrawSql(offerId: bigint, at: Date): Prisma.Sql {
  return sql`
    UPDATE offers SET rentable = false, withdrawn_at = ${at} WHERE id = ${offerId} AND withdrawn_at IS NULL AND rentable
    RETURNING 1`
}

/** Makes the new volumes and opens their meters, and attaches all volumes. */
async function saveVolumes(
  tx: Transaction,
  actor: Actor,
  { launch, machine }: DecidedRental,
  instanceId: bigint,
): Promise<void> {
  const { at } = tx
  const { accountId, apiKeyId } = actor
  const added =
    launch.newVolumes.length > 0 ? await createMountedVolumes(tx, actor, machine, launch.newVolumes, at) : []
  const mounts = [...launch.volumes, ...added]
  await attachVolumes(tx, { id: instanceId, machineId: machine.id, accountId }, mounts)
  const addedIds = added.map(({ volumeId }) => volumeId)
  if (addedIds.length > 0) await openVolumeMeters(tx, { accountId, apiKeyId, since: at }, addedIds)
}

function instanceRow(
  secrets: Secrets,
  actor: Actor,
  { input, template, launch, offer, machine, gpuPriceNanos, idempotencyKey }: DecidedRental,
  { instanceId, at }: { instanceId: bigint; at: Date },
) {
  const { diskMb, label, targetState, vm, registry, volumes: _, newVolumes: __, ...settings } = launch
  const { env, secrets: secretEnv } = splitSecrets(settings.env)
  const lifetime = { createdAt: at, endsAt: machine.listedUntil, destroyedAt: null, announcedAt: null }
  const policy = mergePolicy(input.policy ?? {})
  const state = { targetState, claimedAt: at, status: 'created' as const, statusChangedAt: at, gpuPriceNanos }
  return {
    id: instanceId,
    ...lifetime,
    ...policy,
    ...state,
    // The instance is not charged yet. If there is a policy, `rentInTransaction` computes the next action again once the
    // meters are open.
    policyDueAt: nextPolicyAction({ ...lifetime, ...policy, ...state, meters: [] }, at)?.at ?? null,
    accountId: actor.accountId,
    apiKeyId: actor.apiKeyId,
    machineId: machine.id,
    offerId: offer.id,
    firstGpu: offer.firstGpu,
    numGpus: offer.numGpus,
    label,
    vm,
    templateId: template?.id ?? null,
    templateHash: template?.hash ?? null,
    launch: { ...settings, env },
    registryLogin: sealJson(secrets, registry),
    secretEnv: sealJson(secrets, secretEnv),
    idempotencyKey,
    diskMb,
    interruptible: input.terms.interruptible,
    diskPricePerGbMonthNanos: machine.diskPricePerGbMonthNanos,
    diskNanos: diskPricePerHour(machine.diskPricePerGbMonthNanos, diskMb),
  }
}

/** The event of a new instance. It contains only settings that are not secret. */
function createdEvent({ accountId, apiKeyId }: Actor, rental: DecidedRental) {
  const { input, template, launch, offer, machine, gpuPriceNanos } = rental
  const { image, mode, label, diskMb, targetState } = launch
  const [offerId, price] = [String(offer.id), String(gpuPriceNanos)]
  const settings = { image, mode, label, diskMb, targetState, templateHash: template?.hash ?? null }
  const policy = mergePolicy(input.policy ?? {})
  const policyDetails = policyEventDetails(policy, changedPolicyFields(policy, noPolicy))
  const after = { ...settings, offerId, machineId: machine.id, gpuPriceNanos: price, ...policyDetails }
  return {
    kind: 'INSTANCE_CREATED' as const,
    accountId,
    actor: apiKeyActor({ apiKeyId }),
    after,
    reason: 'USER_REQUEST' as const,
  }
}
