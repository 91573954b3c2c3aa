// Checks admission when instances of an account start or their containers are made anew.

import type { Transaction } from '../../database/transaction.ts'
import { type AdmissionRules, findRefusedStarts } from '../../domain/billing/admission.ts'
import type { DomainError } from '../../domain/errors.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import { isStarting } from '../../domain/instances/start-backoff.ts'
import { checkAdmission, loadAdmissionFacts } from '../billing/admission.ts'
import type { AccountBalance } from '../billing/balance.ts'
import { countFailedStart, findAccountsWithGpus } from './start-backoff.ts'

/** Refusals of starts beyond what the account may have, by instance id. Earlier starts have precedence. */
export async function unaffordableStarts(
  tx: Transaction,
  rules: AdmissionRules,
  account: AccountBalance,
  starts: readonly { id: bigint; gpuPriceNanos: bigint }[],
): Promise<Map<bigint, DomainError>> {
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
  if (isStarting(instance) && (await findAccountsWithGpus(tx, [instance.id])).size > 0)
    await countFailedStart(tx, [account])
}
