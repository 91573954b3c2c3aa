// What a rental writes, in one transaction in which its machine is locked.

import { Prisma } from '../../../database/generated/client.ts'
import { columnsOf, insertAll } from '../../../database/rows.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { arrangementOf, changedParts, policyFacts } from '../../../domain/instances/policy/change.ts'
import { nextPolicy, noArrangement } from '../../../domain/instances/policy/policy.ts'
import type { RentedOffer, RentWish } from '../../../domain/instances/rent/rent.ts'
import { type Port, partSecrets } from '../../../domain/launch/env.ts'
import type { Launch } from '../../../domain/launch/launch.ts'
import type { Machine } from '../../../domain/machines/machines.ts'
import { diskRate } from '../../../domain/money.ts'
import { newVolumesMb } from '../../../domain/volumes/mount.ts'
import { recordEvents } from '../../events/events.ts'
import { changeRoom } from '../../machines/market.ts'
import { type Secrets, sealJson } from '../../secrets.ts'
import { attachVolumes, makeVolumes } from '../../volumes/rent.ts'
import { bindPorts } from '../ports.ts'

const { sql } = Prisma
const instanceColumns = columnsOf(Prisma.InstanceScalarFieldEnum)

/** A rental that nothing stands against. */
type Agreement = {
  wish: RentWish
  template: { id: number; hash: string } | undefined
  launch: Launch
  /** The public ports that it is given. */
  ports: Port[]
  offer: RentedOffer
  machine: Machine
  computeNanos: bigint
  idempotencyKey: string | null
}

/**
 * Makes an instance of an offer, and the volumes that are wished with it. It has all that is its own but its GPUs and its
 * meters. What is left of the machine is returned.
 */
export async function saveRental(
  tx: Transaction,
  secrets: Secrets,
  actor: Actor,
  agreement: Agreement,
  at: Date,
): Promise<{ instanceId: bigint; volumeIds: bigint[]; left: Machine }> {
  const { offer, machine, launch } = agreement
  await useUp(tx, offer.id, at)
  const instanceId = await insert(tx, secrets, actor, agreement, at)
  const left = await takeRoom(tx, instanceId, agreement)
  const made = launch.newVolumes.length > 0 ? await makeVolumes(tx, actor, machine, launch.newVolumes, at) : []
  const mounts = [...launch.volumes, ...made]
  const instance = { id: instanceId, machineId: machine.id, accountId: actor.accountId }
  if (mounts.length > 0) await attachVolumes(tx, instance, mounts)
  await recordEvents(tx, [{ ...createdEvent(actor, agreement), instanceId }], at)
  return { instanceId, volumeIds: made.map(({ volumeId }) => volumeId), left }
}

/** The decisive step. The machine's lock makes it certain; without that the condition would refuse it. */
async function useUp(tx: Transaction, offerId: bigint, at: Date): Promise<void> {
  const used = await tx.rows(sql`
    UPDATE offers SET rentable = false, withdrawn_at = ${at} WHERE id = ${offerId} AND withdrawn_at IS NULL AND rentable RETURNING id`)
  if (used.length !== 1) throw new Error(`Offer ${offerId} was changed by somebody who did not lock its machine.`)
}

async function insert(
  tx: Transaction,
  secrets: Secrets,
  actor: Actor,
  { wish, template, launch, offer, machine, computeNanos, idempotencyKey }: Agreement,
  at: Date,
): Promise<bigint> {
  const { diskMb, label, targetState, vm, registry, volumes: _, newVolumes: __, ...settings } = launch
  const { env, secrets: secretEnv } = partSecrets(settings.env)
  const life = { createdAt: at, endsAt: machine.listedUntil, destroyedAt: null, announcedAt: null }
  const arrangement = arrangementOf(wish.policy ?? {})
  const wished = { targetState, claimedAt: at, status: 'created' as const, statusChangedAt: at, computeNanos }
  const row = {
    ...life,
    ...arrangement,
    ...wished,
    // It costs nothing yet. As soon as it does, that is looked at anew.
    policyDueAt: nextPolicy({ ...life, ...arrangement, ...wished, meters: [] }, at)?.at ?? null,
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
    interruptible: wish.terms.interruptible,
    storageNanos: machine.storageNanos,
    diskNanos: diskRate(machine.storageNanos, diskMb),
    dueAt: at,
  }
  const [inserted] = await tx.rows(sql`${insertAll('instances', instanceColumns, [row])} RETURNING id`)
  return inserted?.[0] as bigint
}

/** Disk and public ports are the instance's until its container is gone; volumes stay until they are deleted. */
async function takeRoom(tx: Transaction, instanceId: bigint, { machine, launch, ports }: Agreement): Promise<Machine> {
  const taken = { diskMb: -(launch.diskMb + newVolumesMb(launch.newVolumes)), ports: -ports.length }
  const left = await changeRoom(tx, machine, taken)
  if (ports.length > 0) await bindPorts(tx, machine, instanceId, ports)
  return left
}

/** Of what is started only what is no secret. */
function createdEvent({ accountId, apiKeyId }: Actor, agreement: Agreement) {
  const { wish, template, launch, offer, machine, computeNanos } = agreement
  const { image, mode, label, diskMb, targetState } = launch
  const [offerId, price] = [String(offer.id), String(computeNanos)]
  const settings = { image, mode, label, diskMb, targetState, templateHash: template?.hash ?? null }
  const arrangement = arrangementOf(wish.policy ?? {})
  const arranged = policyFacts(arrangement, changedParts(arrangement, noArrangement))
  const after = { ...settings, offerId, machineId: machine.id, computeNanos: price, ...arranged }
  return { type: 'INSTANCE_CREATED' as const, accountId, apiKeyId, after, reason: 'USER_REQUEST' }
}
