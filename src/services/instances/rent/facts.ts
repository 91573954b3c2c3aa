// Loads the facts that decide a rental, in the order in which locks are taken.

import { Prisma } from '../../../database/generated/client.ts'
import { bool, int4, int8 } from '../../../database/row-types.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { creditStatusOf } from '../../../domain/billing/balance.ts'
import type { DomainError } from '../../../domain/errors.ts'
import type { RentFacts, RentInput } from '../../../domain/instances/rent/decide.ts'
import { loadSecretVariables } from '../../accounts/secret-variables.ts'
import { permissionErrors } from '../../authorize.ts'
import { type AccountBalance, readBalance } from '../../billing/balance.ts'
import type { Deps } from '../../deps.ts'
import { lockMachine, readMachine } from '../../machines/market.ts'
import { loadTemplatesForLaunch } from '../../templates/rent.ts'
import { loadVolumeFacts } from '../../volumes/rent.ts'

const { sql } = Prisma

export type LoadedRentFacts = RentFacts & {
  /** Permissions that the rental needs beyond its own, and that are missing. */
  forbidden: DomainError[]
  template: Awaited<ReturnType<typeof loadTemplatesForLaunch>>[number] | undefined
  balance: AccountBalance
}

/** With `lock`, locks the volumes, and the machine if the offer looks rentable, until the transaction ends. */
export async function loadRentFacts(
  tx: Transaction,
  { secrets, sshProxy }: Pick<Deps, 'secrets' | 'sshProxy'>,
  actor: Actor,
  { offerId, template: reference, launch }: RentInput,
  { lock }: { lock: boolean },
): Promise<LoadedRentFacts> {
  const templates = reference ? await loadTemplatesForLaunch(tx, secrets, actor, reference) : []
  const [template] = templates.length === 1 ? templates : []
  const hasTemplateNamesakes = templates.length > 1
  const secretVariables = await loadSecretVariables(tx, secrets, actor)
  const renter = await loadRenter(tx, actor)
  const target = await loadTarget(tx, offerId, lock)
  // A volume outlives the rental that it is made with, so making it needs a permission of its own.
  const forbidden = (launch.newVolumes ?? []).flatMap(({ sizeGb }) =>
    permissionErrors(actor, 'volumes.create', { machineId: target?.machine.id, sizeGb }),
  )
  const volumeIds = (launch.environment?.volumes ?? []).map(({ volumeId }) => volumeId)
  const volumes = volumeIds.length === 0 ? [] : await loadVolumeFacts(tx, actor, volumeIds, { lock })
  const others = { secretVariables, ...renter, target, volumes, hasProxy: sshProxy !== null }
  return { forbidden, template, hasTemplateNamesakes, ...others }
}

async function loadRenter(tx: Transaction, { accountId }: Actor) {
  const balance = await readBalance(tx, accountId, tx.at)
  const [row] = await tx.query(
    sql`SELECT count(*)::int AS count FROM ssh_keys k WHERE k.account_id = ${accountId} AND k.deleted_at IS NULL`,
    { count: int4 },
  )
  return { balance, creditNanos: creditStatusOf(balance).creditNanos, sshKeyCount: row?.count ?? 0 }
}

async function loadTarget(tx: Transaction, offerId: bigint, lock: boolean): Promise<RentFacts['target']> {
  // Read without a lock first: when many callers want one offer, those after the first need not queue for the machine.
  const [seen] = await tx.query(
    sql`SELECT machine_id, rentable FROM offers WHERE id = ${offerId} AND withdrawn_at IS NULL`,
    { machineId: int4, rentable: bool },
  )
  if (!seen) return undefined
  const machine = await (lock && seen.rentable ? lockMachine : readMachine)(tx, seen.machineId)
  const [offer] = await tx.query(
    sql`
      SELECT id, gpu_price_nanos, rentable, first_gpu, num_gpus FROM offers
      WHERE id = ${offerId} AND withdrawn_at IS NULL`,
    { id: int8, gpuPriceNanos: int8, rentable: bool, firstGpu: int4, numGpus: int4 },
  )
  if (!machine || !offer) return undefined
  // An offer that was not rentable before the lock is not rented in this transaction.
  return { offer: { ...offer, rentable: seen.rentable && offer.rentable }, machine }
}
