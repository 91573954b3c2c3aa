// Writes a rental, in one transaction with the machine locked.

import { Prisma } from '../../../database/generated/client.ts'
import { int8 } from '../../../database/row-types.ts'
import { insertSql, modelColumnsOf } from '../../../database/rows.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { changedPolicyFields, mergePolicy, policyEventDetails } from '../../../domain/instances/policy/change.ts'
import { nextPolicyAction, noPolicy } from '../../../domain/instances/policy/policy.ts'
import type { RentInput, TargetOffer } from '../../../domain/instances/rent/decide.ts'
import { type Port, splitSecrets } from '../../../domain/launch/env.ts'
import type { Launch } from '../../../domain/launch/launch.ts'
import type { Machine } from '../../../domain/machines/machines.ts'
import { diskPricePerHour } from '../../../domain/money.ts'
import { newVolumesMb } from '../../../domain/volumes/mount.ts'
import { recordEvents } from '../../events/events.ts'
import { changeFreeCapacity } from '../../machines/market.ts'
import { type Secrets, sealJson } from '../../secrets.ts'
import { attachVolumes, createMountedVolumes } from '../../volumes/rent.ts'
import { bindPorts } from '../ports.ts'

const { sql } = Prisma
const instanceColumns = modelColumnsOf(Prisma.InstanceScalarFieldEnum)

/** A rental without blockers. */
type DecidedRental = {
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

/**
 * Inserts the instance with its ports and volumes, and withdraws the offer. The caller then updates the market, which
 * may grant the GPUs, and opens the meters. `machineAfter` is the machine with the capacity that is left.
 */
export async function saveRental(
  tx: Transaction,
  secrets: Secrets,
  actor: Actor,
  rental: DecidedRental,
  at: Date,
): Promise<{ instanceId: bigint; volumeIds: bigint[]; machineAfter: Machine }> {
  const { offer, machine, launch } = rental
  await withdrawOffer(tx, offer.id, at)
  const instanceId = await insertInstance(tx, secrets, actor, rental, at)
  const machineAfter = await reserveRoom(tx, instanceId, rental)
  const newMounts =
    launch.newVolumes.length > 0 ? await createMountedVolumes(tx, actor, machine, launch.newVolumes, at) : []
  const mounts = [...launch.volumes, ...newMounts]
  const instance = { id: instanceId, machineId: machine.id, accountId: actor.accountId }
  if (mounts.length > 0) await attachVolumes(tx, instance, mounts)
  await recordEvents(tx, [{ ...createdEvent(actor, rental), instanceId }], at)
  return { instanceId, volumeIds: newMounts.map(({ volumeId }) => volumeId), machineAfter }
}

/** Under the machine's lock the offer cannot have changed. The condition catches a caller without the lock. */
async function withdrawOffer(tx: Transaction, offerId: bigint, at: Date): Promise<void> {
  const withdrawn = await tx.execute(sql`
    UPDATE offers SET rentable = false, withdrawn_at = ${at} WHERE id = ${offerId} AND withdrawn_at IS NULL AND rentable`)
  if (withdrawn !== 1) throw new Error(`Offer ${offerId} was changed without a lock on its machine.`)
}

async function insertInstance(
  tx: Transaction,
  secrets: Secrets,
  actor: Actor,
  { input, template, launch, offer, machine, gpuPriceNanos, idempotencyKey }: DecidedRental,
  at: Date,
): Promise<bigint> {
  const { diskMb, label, targetState, vm, registry, volumes: _, newVolumes: __, ...settings } = launch
  const { env, secrets: secretEnv } = splitSecrets(settings.env)
  const lifetime = { createdAt: at, endsAt: machine.listedUntil, destroyedAt: null, announcedAt: null }
  const policy = mergePolicy(input.policy ?? {})
  const state = { targetState, claimedAt: at, status: 'created' as const, statusChangedAt: at, gpuPriceNanos }
  const row = {
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
    dueAt: at,
  }
  const [inserted] = await tx.query(sql`${insertSql('instances', instanceColumns, [row])} RETURNING id`, { id: int8 })
  if (!inserted) throw new Error('The instance was not inserted.')
  return inserted.id
}

/** Reserves disk and public ports until the container is gone, and room for volumes until the volumes are deleted. */
async function reserveRoom(
  tx: Transaction,
  instanceId: bigint,
  { machine, launch, ports }: DecidedRental,
): Promise<Machine> {
  const delta = { diskMb: -(launch.diskMb + newVolumesMb(launch.newVolumes)), ports: -ports.length }
  const machineAfter = await changeFreeCapacity(tx, machine, delta)
  if (ports.length > 0) await bindPorts(tx, machine, instanceId, ports)
  return machineAfter
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
