// Loads the facts that decide a rental, in the order in which locks are taken.

import { Prisma } from '../../../database/generated/client.ts'
import { bool, int4, int8 } from '../../../database/row-types.ts'
import { readOf, readTogether } from '../../../database/together.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { creditStatusOf } from '../../../domain/billing/balance.ts'
import type { DomainError } from '../../../domain/errors.ts'
import type { RentFacts, RentInput } from '../../../domain/instances/rent/decide.ts'
import type { Machine } from '../../../domain/machines/machines.ts'
import type { Claim, CurrentOffer } from '../../../domain/machines/market.ts'
import { openVariable } from '../../accounts/secret-variables.ts'
import { permissionErrors } from '../../authorize.ts'
import { type AccountBalance, toBalance } from '../../billing/balance.ts'
import type { Deps } from '../../deps.ts'
import { lockFreeMachinesOfOffers, lockMachineOfOffer, machineOfOfferRead } from '../../machines/lock.ts'
import { marketReads } from '../../machines/market.ts'
import { type TemplateForLaunch, toTemplateForLaunch } from '../../templates/rent.ts'
import { loadVolumeFacts } from '../../volumes/rent.ts'
import { boundPortsRead } from '../ports.ts'
import { accountIdsOf, type Renter, type Renting, renterOf, renterReads } from './renter.ts'

const { sql } = Prisma

type FactsDeps = Pick<Deps, 'secrets' | 'sshProxy'>

export type LoadedRentFacts = RentFacts & {
  /** Permissions that the rental needs beyond its own, and that are missing. */
  forbidden: DomainError[]
  template: TemplateForLaunch | undefined
  balance: AccountBalance
}

/** What a rental changes of the locked machine, and the id of the instance that it will make. */
export type LockedMarket = {
  claims: Claim[]
  offers: CurrentOffer[]
  boundPorts: { hostPort: number }[]
  instanceId: bigint
}

/** There is no `market` if the offer cannot be rented. */
export type LockedRentFacts = { facts: LoadedRentFacts; market: LockedMarket | undefined }

/** The facts as last committed. Nothing is locked. */
export async function loadRentFacts(
  tx: Transaction,
  deps: FactsDeps,
  actor: Actor,
  input: RentInput,
): Promise<LoadedRentFacts> {
  const renting = { actor, input }
  const { offers, machines, ...renters } = await readTogether(tx, {
    ...renterReads(tx, [renting]),
    offers: offerRead(input.offerId),
    machines: machineOfOfferRead(input.offerId),
  })
  const [[offer], [machine]] = [offers, machines]
  const target = offer && machine && { offer, machine }
  return await completeFacts(tx, deps, renting, { renter: renterOf(renters, renting, 0), target, lock: false })
}

/**
 * Locks the offer's machine, and the volumes, until the transaction ends. If the offer cannot be rented, the machine stays
 * unlocked, so that those who come late for an offer need not queue for it.
 */
export async function lockRentFacts(tx: Transaction, deps: FactsDeps, renting: Renting): Promise<LockedRentFacts> {
  const machine = await lockMachineOfOffer(tx, renting.input.offerId)
  if (machine) {
    const [locked] = await loadLockedFacts(tx, deps, [renting], [machine])
    return locked as LockedRentFacts
  }
  const { target, ...facts } = await loadRentFacts(tx, deps, renting.actor, renting.input)
  // If the offer can be rented by now, another transaction listed it again after this one looked.
  const unavailable = target && { ...target, offer: { ...target.offer, rentable: false } }
  return { facts: { ...facts, target: unavailable }, market: undefined }
}

/**
 * `lockRentFacts` for many, which also locks their accounts. Leaves out those whose machine or account another transaction has
 * locked, and those whose offer cannot be rented.
 */
export async function lockFreeRentFacts<Each extends Renting>(
  tx: Transaction,
  deps: FactsDeps,
  rentings: readonly Each[],
): Promise<{ renting: Each; locked: LockedRentFacts }[]> {
  const offerIds = rentings.map(({ input }) => input.offerId)
  const { machines, accountIds } = await lockFreeMachinesOfOffers(tx, offerIds, accountIdsOf(rentings))
  const free = rentings.filter(({ actor }) => accountIds.has(actor.accountId))
  if (free.length === 0) return []
  const facts = await loadLockedFacts(tx, deps, free, machines)
  return free.flatMap((renting, place) => {
    const locked = facts[place]
    return locked?.market ? [{ renting, locked }] : []
  })
}

/** Called after the locks, so that it sees what the transactions before this one have changed. */
async function loadLockedFacts(
  tx: Transaction,
  deps: FactsDeps,
  rentings: readonly Renting[],
  machines: readonly Machine[],
): Promise<LockedRentFacts[]> {
  const machineIds = machines.map(({ id }) => id)
  const { claims, offers, boundPorts, ids, ...renters } = await readTogether(tx, {
    ...renterReads(tx, rentings),
    ...marketReads(machineIds),
    boundPorts: boundPortsRead(machineIds),
    ids: readOf(sql`SELECT nextval('instances_id_seq') AS id FROM generate_series(1, ${rentings.length})`, {
      id: int8,
    }),
  })
  const facts = rentings.map(async (renting, place) => {
    const offer = offers.find(({ id }) => id === renting.input.offerId)
    const machine = offer && machines.find(({ id }) => id === offer.machineId)
    const target = offer && machine && { offer, machine }
    const renter = renterOf(renters, renting, place)
    const isOwn = ({ machineId }: { machineId: number }) => machineId === machine?.id
    const instanceId = ids[place]?.id
    const own = { claims: claims.filter(isOwn), offers: offers.filter(isOwn), boundPorts: boundPorts.filter(isOwn) }
    const market = machine && instanceId !== undefined ? { ...own, instanceId } : undefined
    return { facts: await completeFacts(tx, deps, renting, { renter, target, lock: true }), market }
  })
  return await Promise.all(facts)
}

function offerRead(offerId: bigint) {
  const statement = sql`
    SELECT id, gpu_price_nanos, rentable, first_gpu, num_gpus FROM offers WHERE id = ${offerId} AND withdrawn_at IS NULL`
  return readOf(statement, { id: int8, gpuPriceNanos: int8, rentable: bool, firstGpu: int4, numGpus: int4 })
}

async function completeFacts(
  tx: Transaction,
  { secrets, sshProxy }: FactsDeps,
  { actor, input: { launch } }: Renting,
  { renter, target, lock }: { renter: Renter; target: RentFacts['target']; lock: boolean },
): Promise<LoadedRentFacts> {
  const { balance: balanceRow, sshKeyCount, secretVariables, templates } = renter
  if (!balanceRow) throw new Error(`The account ${actor.accountId} has no row.`)
  const balance = toBalance(balanceRow)
  // A volume outlives the rental that it is made with, so making it needs a permission of its own.
  const forbidden = (launch.newVolumes ?? []).flatMap(({ sizeGb }) =>
    permissionErrors(actor, 'volumes.create', { machineId: target?.machine.id, sizeGb }),
  )
  const volumeIds = (launch.environment?.volumes ?? []).map(({ volumeId }) => volumeId)
  const [only] = templates.length === 1 ? templates : []
  return {
    forbidden,
    template: only && toTemplateForLaunch(secrets, only),
    hasTemplateNamesakes: templates.length > 1,
    secretVariables: secretVariables.map(row => openVariable(secrets, row)),
    balance,
    creditNanos: creditStatusOf(balance).creditNanos,
    sshKeyCount,
    target,
    volumes: await loadVolumeFacts(tx, actor, volumeIds, { lock }),
    hasProxy: sshProxy !== null,
  }
}
