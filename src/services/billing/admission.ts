// Decides whether an account may hold or spend more. A request that adds something reads the admission facts under the
// account's lock. Of two concurrent requests, the second therefore sees what the first added.

import { Prisma } from '../../database/generated/client.ts'
import { int4, nullable, type RowOf, text, timestamptz } from '../../database/row-types.ts'
import type { Statements } from '../../database/statements.ts'
import { type Read, readOf } from '../../database/together.ts'
import type { Transaction } from '../../database/transaction.ts'
import { disabledOf } from '../../domain/accounts/disabled.ts'
import { quotasOf } from '../../domain/accounts/quotas.ts'
import {
  type AdmissionFacts,
  type AdmissionRules,
  admissionErrors,
  completeHoldings,
  type Holdings,
  subtractHoldings,
} from '../../domain/billing/admission.ts'
import { creditStatusOf, currentDiskRate } from '../../domain/billing/balance.ts'
import type { DomainError } from '../../domain/errors.ts'
import { isLoadingSql, wantsGpusSql } from '../instances/sql.ts'
import type { AccountBalance } from './balance.ts'

const { sql } = Prisma

type Database = Pick<Statements, 'query'>

const admissionRow = {
  accountId: int4,
  ...{ maxInstances: nullable(int4), maxLoading: nullable(int4), maxDiskGb: nullable(int4) },
  ...{ maxVolumes: nullable(int4), startFailures: int4, startFailedAt: nullable(timestamptz) },
  ...{ disabledAt: nullable(timestamptz), disabledReason: nullable(text) },
  ...{ instances: int4, loading: int4, diskMb: text, gpuPriceNanos: text, volumes: int4, sizeMb: text },
}

/** `account` must have been read before this transaction opened meters. */
export async function loadAdmissionFacts(
  database: Database,
  account: AccountBalance,
  rules: AdmissionRules,
): Promise<AdmissionFacts> {
  const { statement, shape } = admissionsRead([account.accountId])
  const [row] = await database.query(statement, shape)
  if (!row) throw new Error(`The account ${account.accountId} has no row.`)
  return toAdmissionFacts(row, account, rules)
}

/** The rows that `toAdmissionFacts` reads. */
export function admissionsRead(accountIds: readonly number[]): Read<typeof admissionRow> {
  // An instance that is marked to stop, because credit ended or a limit was reached, is no longer charged for GPUs.
  const isNotMarkedSql = sql`i.id <> ALL (ARRAY(
    SELECT m.instance_id FROM meters m WHERE m.account_id = a.id AND m.stop_reason IS NOT NULL))`
  const statement = sql`
    SELECT a.id AS account_id, a.max_instances, a.max_loading, a.max_disk_gb, a.max_volumes, a.start_failures, a.start_failed_at,
      a.disabled_at, a.disabled_reason,
      held.instances, held.loading, held.disk_mb, held.gpu_price_nanos, kept.volumes, kept.size_mb
    FROM accounts a CROSS JOIN LATERAL (
      SELECT count(*)::int AS instances, count(*) FILTER (WHERE ${isLoadingSql} AND ${isNotMarkedSql})::int AS loading,
        coalesce(sum(i.disk_mb), 0)::text AS disk_mb,
        coalesce(sum(i.gpu_price_nanos) FILTER (WHERE ${wantsGpusSql} AND ${isNotMarkedSql}), 0)::text AS gpu_price_nanos
      FROM instances i WHERE i.account_id = a.id AND i.destroyed_at IS NULL
    ) AS held CROSS JOIN LATERAL (
      SELECT count(*)::int AS volumes, coalesce(sum(v.size_mb), 0)::text AS size_mb
      FROM volumes v WHERE v.account_id = a.id AND v.deleted_at IS NULL
    ) AS kept WHERE a.id = ANY(${accountIds}::int[])`
  return readOf(statement, admissionRow)
}

export function toAdmissionFacts(
  row: RowOf<typeof admissionRow>,
  account: AccountBalance,
  rules: AdmissionRules,
): AdmissionFacts {
  const { instances, loading, volumes } = row
  const own = {
    ...{ instances: row.maxInstances, loading: row.maxLoading, diskGb: row.maxDiskGb, volumes: row.maxVolumes },
  }
  return {
    at: account.at,
    disabled: disabledOf(row),
    creditNanos: creditStatusOf(account).creditNanos,
    held: {
      ...{ instances, loading, volumes },
      diskMb: Number(row.diskMb) + Number(row.sizeMb),
      gpuPriceNanos: BigInt(row.gpuPriceNanos),
      diskNanos: currentDiskRate(account),
    },
    quotas: quotasOf(own, rules.quotas),
    failures: { count: row.startFailures, lastAt: row.startFailedAt },
  }
}

/**
 * Adds the errors of an addition that is not written yet to `others`. Such an error replaces another error with the
 * same code, for example a credit error that does not say the needed amount.
 */
export async function addAdmissionErrors(
  database: Database,
  rules: AdmissionRules,
  account: AccountBalance,
  added: Holdings,
  others: readonly DomainError[],
): Promise<DomainError[]> {
  const errors = admissionErrors(await loadAdmissionFacts(database, account, rules), added, rules)
  const known = others.map(other => errors.find(({ code }) => code === other.code) ?? other)
  return [...known, ...errors.filter(({ code }) => others.every(other => other.code !== code))]
}

/**
 * Throws if the locked account may not have the addition. `isWritten`: the rows of the addition are already in the tables.
 * `account` must have been read before the meters of the addition were opened.
 */
export async function checkAdmission(
  tx: Transaction,
  rules: AdmissionRules,
  account: AccountBalance,
  addition: Partial<Holdings>,
  { isWritten = true }: { isWritten?: boolean } = {},
): Promise<void> {
  const added = completeHoldings(addition)
  const admission = await loadAdmissionFacts(tx, account, rules)
  // `diskNanos` comes from `account`, which does not count the disks of this transaction.
  const written = { ...added, diskNanos: 0n }
  const held = isWritten ? subtractHoldings(admission.held, written) : admission.held
  const [error] = admissionErrors({ ...admission, held }, added, rules)
  if (error) throw error
}
