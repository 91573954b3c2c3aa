// Loads the facts that decide a rental, in the order in which locks are taken.

import { Prisma } from '../../../database/generated/client.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { creditStatusOf } from '../../../domain/billing/balance.ts'
import type { DomainError } from '../../../domain/errors.ts'
import type { RentFacts, RentInput, TargetOffer } from '../../../domain/instances/rent/decide.ts'
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
  const [row] = await tx.rows(sql`
    SELECT count(*)::int FROM ssh_keys k WHERE k.account_id = ${accountId} AND k.deleted_at IS NULL`)
  return { balance, creditNanos: creditStatusOf(balance).creditNanos, sshKeyCount: row?.[0] as number }
}

async function loadTarget(tx: Transaction, offerId: bigint, lock: boolean): Promise<RentFacts['target']> {
  // Read without a lock first: when many callers want one offer, those after the first need not queue for the machine.
  const [seen] = await tx.rows(
    sql`SELECT machine_id, rentable FROM offers WHERE id = ${offerId} AND withdrawn_at IS NULL`,
  )
  if (!seen) return undefined
  const [machineId, wasRentable] = seen as [number, boolean]
  const machine = await (lock && wasRentable ? lockMachine : readMachine)(tx, machineId)
  const [row] = await tx.rows(sql`
    SELECT id, gpu_price_nanos, rentable, first_gpu, num_gpus FROM offers WHERE id = ${offerId} AND withdrawn_at IS NULL`)
  if (!machine || !row) return undefined
  const [id, gpuPriceNanos, isStillRentable, firstGpu, numGpus] = row
  // An offer that was not rentable before the lock is not rented in this transaction.
  const rentable = wasRentable && isStillRentable
  const offer = { id, gpuPriceNanos, rentable, firstGpu, numGpus } as TargetOffer
  return { offer, machine }
}
