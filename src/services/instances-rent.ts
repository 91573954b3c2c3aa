import { Prisma } from '../database/generated/client.ts'
import { columnsOf, insertAll } from '../database/rows.ts'
import { type Transaction, transaction } from '../database/transaction.ts'
import type { Actor } from '../domain/actor.ts'
import { DomainError, invalidInput } from '../domain/errors.ts'
import type { Instance } from '../domain/instances.ts'
import { agree, checkRent, choosePorts, lacksOf, type RentedOffer, type RentWish } from '../domain/instances-rent.ts'
import type { Launch } from '../domain/launch.ts'
import type { Machine } from '../domain/machines.ts'
import { diskRate } from '../domain/money.ts'
import { isAllowed } from '../domain/permissions.ts'
import { needCredit } from './accounts.ts'
import { authorise } from './authorise.ts'
import type { Deps } from './deps.ts'
import { recordEvents } from './events.ts'
import { findInstances } from './instances.ts'
import { lockMachine, settleMarket } from './market.ts'
import { offerServices } from './offers.ts'

const { sql } = Prisma
const instanceColumns = columnsOf(Prisma.InstanceScalarFieldEnum)
const bindingColumns = columnsOf(Prisma.PortBindingScalarFieldEnum)

/** How many offers are named beside one that is gone. */
const alternativeCount = 3

/** Undoes a rental that was to start at once, and would not. */
class WouldWait extends Error {}

export function rentServices(deps: Deps) {
  const { database, now, secrets, wake } = deps
  const { alternatives: alternativesTo } = offerServices(deps)

  return {
    /** Rents an offer: one transaction, after which the instance exists and the offer's id is used up; or nothing is. */
    async rent(actor: Actor, wish: RentWish): Promise<Instance> {
      authorise(actor, 'instances.rent', { offerId: Number(wish.offerId) })
      refuseUnknown(wish)
      const launch = checkRent(wish)
      if (launch.vm) {
        const message = 'A virtual machine needs an SSH key that is registered before: there is no other way into it.'
        throw new DomainError('SSH_KEY_REQUIRED', message)
      }
      const at = now()
      const renting = transaction(database.pool, tx => rentIn(tx, actor, wish, launch, at))
      const id = await renting.catch((error: unknown) => {
        if (error instanceof WouldWait) return undefined
        throw error
      })
      if (id === undefined) throw await unavailable(actor, wish, launch, at)
      wake()
      return (await findInstances(deps, [Prisma.sql`i.id = ${id}`], Prisma.sql`i.id`, 1))[0] as Instance
    },
  }

  async function rentIn(tx: Transaction, actor: Actor, wish: RentWish, launch: Launch, at: Date) {
    // Asked without a lock first: of many who want one offer, all but the first need not stand in line for it.
    const [seen] = await tx.rows(
      sql`SELECT machine_id FROM offers WHERE id = ${wish.offerId} AND withdrawn_at IS NULL AND rentable`,
    )
    if (!seen) return undefined
    await needCredit(tx, actor)
    const machine = await lockMachine(tx, seen[0] as number)
    const offer = await offerIn(tx, wish.offerId)
    const computeNanos = offer && agree(offer, machine, wish, launch, at)
    if (!offer || computeNanos === undefined) return undefined
    const lacks = lacksOf(machine, launch)
    if (lacks.length > 0) throw invalidInput(lacks)

    await useUp(tx, offer.id, at)
    const id = await insert(tx, actor, wish, launch, { offer, machine, computeNanos }, at)
    const left = await takeRoom(tx, machine, id, launch)
    // Of what is started only what is no secret.
    const { image, mode, label, diskMb, targetState } = launch
    const after = {
      image,
      mode,
      label,
      diskMb,
      targetState,
      offerId: String(offer.id),
      machineId: machine.id,
      computeNanos: String(computeNanos),
    }
    const created = { type: 'INSTANCE_CREATED' as const, accountId: actor.accountId, apiKeyId: actor.apiKeyId }
    await recordEvents(tx, [{ ...created, instanceId: id, after, reason: 'USER_REQUEST' }], at)
    const granted = await settleMarket(tx, left, at)
    // Its offer may have been rentable because the market has not followed a wish of another yet.
    const waits = launch.targetState === 'running' && granted.every(({ instanceId }) => instanceId !== id)
    if (waits && wish.cancelUnavailable) throw new WouldWait()
    return id
  }

  async function offerIn(tx: Transaction, id: bigint): Promise<RentedOffer | undefined> {
    const [row] = await tx.rows(sql`
      SELECT id, compute_nanos, min_bid_nanos, rentable, first_gpu, num_gpus FROM offers WHERE id = ${id} AND withdrawn_at IS NULL`)
    if (!row) return undefined
    const [offerId, computeNanos, minBidNanos, rentable, firstGpu, numGpus] = row
    return { id: offerId, computeNanos, minBidNanos, rentable, firstGpu, numGpus } as RentedOffer
  }

  /** The decisive step. The machine's lock makes it certain; without that the condition would refuse it. */
  async function useUp(tx: Transaction, offerId: bigint, at: Date): Promise<void> {
    const used = await tx.rows(sql`
      UPDATE offers SET rentable = false, withdrawn_at = ${at} WHERE id = ${offerId} AND withdrawn_at IS NULL AND rentable RETURNING id`)
    if (used.length !== 1) throw new Error(`Offer ${offerId} was changed by somebody who did not lock its machine.`)
  }

  async function insert(
    tx: Transaction,
    actor: Actor,
    { terms }: RentWish,
    { diskMb, label, targetState, vm, registry, volumes: _, newVolumes: __, ...settings }: Launch,
    { offer, machine, computeNanos }: { offer: RentedOffer; machine: Machine; computeNanos: bigint },
    at: Date,
  ): Promise<bigint> {
    const row = {
      accountId: actor.accountId,
      apiKeyId: actor.apiKeyId,
      machineId: machine.id,
      offerId: offer.id,
      firstGpu: offer.firstGpu,
      numGpus: offer.numGpus,
      label,
      vm,
      launch: settings,
      registryLogin: registry && `\\x${secrets.seal(JSON.stringify(registry)).toString('hex')}`,
      diskMb,
      interruptible: terms.interruptible,
      computeNanos,
      storageNanos: machine.storageNanos,
      diskNanos: diskRate(machine.storageNanos, diskMb),
      targetState,
      claimedAt: at,
      statusChangedAt: at,
      dueAt: at,
      createdAt: at,
      endsAt: machine.listedUntil,
    }
    const [inserted] = await tx.rows(sql`${insertAll('instances', instanceColumns, [row])} RETURNING id`)
    return inserted?.[0] as bigint
  }

  /** Disk and public ports are the instance's until its container is gone. What is left of the machine is returned. */
  async function takeRoom(tx: Transaction, machine: Machine, instanceId: bigint, { diskMb, ports }: Launch) {
    const left = { ...machine, freeDiskMb: machine.freeDiskMb - diskMb, freePorts: machine.freePorts - ports.length }
    await tx.rows(sql`
      UPDATE machines SET free_disk_mb = ${left.freeDiskMb}, free_ports = ${left.freePorts} WHERE id = ${machine.id}`)
    if (ports.length === 0) return left
    const taken = await tx.rows(sql`SELECT host_port FROM port_bindings WHERE machine_id = ${machine.id}`)
    const bindings = choosePorts(machine, new Set(taken.map(([port]) => port as number)), ports)
    const rows = bindings.map(binding => ({ ...binding, machineId: machine.id, instanceId }))
    await tx.rows(insertAll('port_bindings', bindingColumns, rows))
    return left
  }

  /** Why an offer can't be rented any more: with what else there is and, if the caller has rented it, as which instance. */
  async function unavailable(actor: Actor, wish: RentWish, { diskMb }: Launch, at: Date): Promise<DomainError> {
    const { offerId, terms, cancelUnavailable: cancelled } = wish
    const [row] = await database.rows(sql`
      SELECT g.name, o.num_gpus, (
        SELECT i.id FROM instances i WHERE i.offer_id = o.id AND i.account_id = ${actor.accountId}
        AND i.created_at > ${at}::timestamptz - interval '24 hours'
      ) FROM offers o JOIN gpu_models g ON g.id = o.gpu_model_id WHERE o.id = ${offerId}`)
    const [gpuName, numGpus, yours] = (row ?? []) as [string?, number?, (bigint | null)?]
    const pricing = { type: terms.interruptible ? ('interruptible' as const) : ('onDemand' as const), diskMb }
    const alternatives =
      gpuName !== undefined && isAllowed(actor.permissions, 'offers.search')
        ? await alternativesTo(actor, { offerId, gpuName, numGpus: numGpus as number, pricing }, alternativeCount)
        : []
    const message = yours
      ? `Offer ${offerId} is no longer available: you rented it yourself, as instance ${yours}.`
      : `Offer ${offerId} is not available.`
    const offer = { id: offerId, instanceId: yours ?? undefined, alternatives, cancelled }
    return new DomainError('OFFER_UNAVAILABLE', message, { offer })
  }
}

/** There are neither templates nor volumes, so whoever names one names none of his own. */
function refuseUnknown({ templateHash, launch }: RentWish): void {
  if (templateHash !== undefined) throw new DomainError('NOT_FOUND', `Template ${templateHash} not found.`)
  const [volume] = launch.environment?.volumes ?? []
  if (volume) throw new DomainError('NOT_FOUND', `Volume ${volume.volumeId} not found.`)
}
