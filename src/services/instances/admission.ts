// Checks admission when instances of an account start or their containers are made anew.

import { Prisma } from '../../database/generated/client.ts'
import { int8 } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { type AdmissionRules, findRefusedStarts } from '../../domain/billing/admission.ts'
import type { DomainError } from '../../domain/errors.ts'
import type { ItemPlan } from '../../domain/instances/command.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import { isStarting } from '../../domain/instances/start-backoff.ts'
import { checkAdmission, loadAdmissionFacts } from '../billing/admission.ts'
import { type AccountBalance, lockAccount, readBalance } from '../billing/balance.ts'
import { countFailedStart, hasGpuHolder } from './start-backoff.ts'

const { sql } = Prisma

/** Refusals of starts beyond what the account may have, by instance id. Earlier ids in the plans have precedence. */
export async function unaffordableStarts(
  tx: Transaction,
  rules: AdmissionRules,
  { accountId }: Actor,
  plans: readonly ItemPlan[],
  { dryRun, at }: { dryRun: boolean; at: Date },
): Promise<Map<bigint, DomainError>> {
  const started = plans.filter(plan => plan.outcome === 'applied' && plan.targetState === 'running')
  if (started.length === 0) return new Map()
  const ids = [...new Set(started.map(({ id }) => id))]
  const account = await (dryRun ? readBalance : lockAccount)(tx, accountId, at)
  const rows = await tx.query(
    sql`SELECT id, gpu_price_nanos FROM instances WHERE id = ANY(${ids.map(String)}::bigint[])`,
    { id: int8, gpuPriceNanos: int8 },
  )
  const rates = new Map(rows.map(({ id, gpuPriceNanos }) => [id, gpuPriceNanos]))
  const starts = ids.flatMap(id => {
    const gpuPriceNanos = rates.get(id)
    return gpuPriceNanos === undefined ? [] : [{ id, gpuPriceNanos }]
  })
  return findRefusedStarts(await loadAdmissionFacts(tx, account, rules), starts, rules)
}

/**
 * Checks admission for a container that is made anew. Meanwhile the instance holds its GPUs, which are not charged
 * until it runs. If the instance held GPUs but had not run yet, the restart counts as a failed start.
 */
export async function admitRestart(
  tx: Transaction,
  rules: AdmissionRules,
  account: AccountBalance,
  instance: Pick<Instance, 'id' | 'targetState' | 'status'>,
): Promise<void> {
  if (instance.targetState === 'stopped') return
  await checkAdmission(tx, rules, account, { loading: 1 }, { isWritten: instance.status !== 'running' })
  if (isStarting(instance) && (await hasGpuHolder(tx, [instance.id]))) await countFailedStart(tx, account)
}
