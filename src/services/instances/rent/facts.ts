// Loads the facts that decide a rental, in the order in which locks are taken.

import { Prisma } from '../../../database/generated/client.ts'
import { bool, int4, int8 } from '../../../database/row-types.ts'
import { readOf, readTogether } from '../../../database/together.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { creditStatusOf } from '../../../domain/billing/balance.ts'
import type { DomainError } from '../../../domain/errors.ts'
import type { RentFacts, RentInput } from '../../../domain/instances/rent/decide.ts'
import type { Claim, CurrentOffer } from '../../../domain/machines/market.ts'
import { openVariable, secretVariablesRead } from '../../accounts/secret-variables.ts'
import { permissionErrors } from '../../authorize.ts'
import { type AccountBalance, balanceRead, toBalance } from '../../billing/balance.ts'
import type { Deps } from '../../deps.ts'
import { lockMachineOfOffer, machineOfOfferRead } from '../../machines/lock.ts'
import { marketReads } from '../../machines/market.ts'
import { type TemplateForLaunch, templateReads, toTemplateForLaunch } from '../../templates/rent.ts'
import { loadVolumeFacts } from '../../volumes/rent.ts'
import { boundPortsRead } from '../ports.ts'

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

/** The facts as last committed. Nothing is locked. */
export async function loadRentFacts(
  tx: Transaction,
  deps: FactsDeps,
  actor: Actor,
  input: RentInput,
): Promise<LoadedRentFacts> {
  const { offerId } = input
  const { offers, machines, ...renter } = await readTogether(tx, {
    ...renterReads(tx, actor, input),
    offers: offerRead(offerId),
    machines: machineOfOfferRead(offerId),
  })
  const [[offer], [machine]] = [offers, machines]
  const target = offer && machine && { offer, machine }
  return await completeFacts(tx, deps, actor, input, { renter, target, lock: false })
}

/**
 * Locks the offer's machine, and the volumes, until the transaction ends. There is no `market` if the offer cannot be
 * rented: then the machine stays unlocked, so that those who come late for an offer need not queue for it.
 */
export async function lockRentFacts(
  tx: Transaction,
  deps: FactsDeps,
  actor: Actor,
  input: RentInput,
): Promise<{ facts: LoadedRentFacts; market: LockedMarket | undefined }> {
  const machine = await lockMachineOfOffer(tx, input.offerId)
  if (!machine) {
    const { target, ...facts } = await loadRentFacts(tx, deps, actor, input)
    // If the offer can be rented by now, another transaction listed it again after this one looked.
    const unavailable = target && { ...target, offer: { ...target.offer, rentable: false } }
    return { facts: { ...facts, target: unavailable }, market: undefined }
  }
  // After the lock, so that this sees what those before this transaction have changed.
  const { claims, offers, boundPorts, ids, ...renter } = await readTogether(tx, {
    ...renterReads(tx, actor, input),
    ...marketReads([machine.id]),
    boundPorts: boundPortsRead(machine.id),
    ids: readOf(sql`SELECT nextval('instances_id_seq') AS id`, { id: int8 }),
  })
  const offer = offers.find(({ id }) => id === input.offerId)
  const [{ id: instanceId } = { id: 0n }] = ids
  const target = offer && { offer, machine }
  const facts = await completeFacts(tx, deps, actor, input, { renter, target, lock: true })
  return { facts, market: { claims, offers, boundPorts, instanceId } }
}

function renterReads(tx: Transaction, actor: Actor, { template }: RentInput) {
  const { accountId } = actor
  const sshKeyCount = sql`SELECT count(*)::int AS count FROM ssh_keys WHERE account_id = ${accountId} AND deleted_at IS NULL`
  return {
    balances: balanceRead([accountId], sql`${tx.at}::timestamptz`),
    sshKeys: readOf(sshKeyCount, { count: int4 }),
    secretVariables: secretVariablesRead(actor),
    ...templateReads(actor, template),
  }
}

type Renter = Awaited<ReturnType<typeof readTogether<ReturnType<typeof renterReads>>>>

function offerRead(offerId: bigint) {
  const statement = sql`
    SELECT id, gpu_price_nanos, rentable, first_gpu, num_gpus FROM offers WHERE id = ${offerId} AND withdrawn_at IS NULL`
  return readOf(statement, { id: int8, gpuPriceNanos: int8, rentable: bool, firstGpu: int4, numGpus: int4 })
}

async function completeFacts(
  tx: Transaction,
  { secrets, sshProxy }: FactsDeps,
  actor: Actor,
  { launch }: RentInput,
  { renter, target, lock }: { renter: Renter; target: RentFacts['target']; lock: boolean },
): Promise<LoadedRentFacts> {
  const { balances, sshKeys, secretVariables, templates = [] } = renter
  const [[balanceRow], [keys]] = [balances, sshKeys]
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
    sshKeyCount: keys?.count ?? 0,
    target,
    volumes: await loadVolumeFacts(tx, actor, volumeIds, { lock }),
    hasProxy: sshProxy !== null,
  }
}
