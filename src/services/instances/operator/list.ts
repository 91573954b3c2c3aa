// Instances as operators see them: those of all renters.

import { Prisma } from '../../../database/generated/client.ts'
import { bool, enumeration, int4, int8, nullable, type RowOf, text, timestamptz } from '../../../database/row-types.ts'
import { DomainError } from '../../../domain/errors.ts'
import type { InstanceFilter } from '../../../domain/instances/filter.ts'
import type { Instance } from '../../../domain/instances/instances.ts'
import type { InstanceStatus, TargetState } from '../../../domain/instances/states.ts'
import type { DataDeps } from '../../deps.ts'
import { instanceFilterSql } from '../filter.ts'
import { findInstances } from '../read.ts'
import { isChargedSql } from '../sql.ts'

const { sql, join } = Prisma

const summaryRow = {
  ...{ id: int8, accountId: int4, account: text, label: nullable(text), status: enumeration<InstanceStatus>() },
  ...{ targetState: enumeration<TargetState>(), reasonCode: nullable(text), machineId: int4, gpuModel: text },
  ...{ numGpus: int4, interruptible: bool, charged: bool, gpuPriceNanos: int8, diskNanos: int8 },
  ...{ createdAt: timestamptz, destroyedAt: nullable(timestamptz) },
}
/** One row of a list. */
export type InstanceSummary = Omit<RowOf<typeof summaryRow>, 'id'> & { id: number }

/** An instance with what a renter does not see of it. */
export type InstanceForOperator = { instance: Instance; account: string; apiKeyId: number }

/** An absent part matches every instance that is not destroyed. */
export type OperatorFilter = Pick<InstanceFilter, 'status' | 'machineId'> & { accountId?: number | undefined }

export function instanceListOperations({ database }: DataDeps) {
  return {
    /** Up to `limit` instances after the one with the id `after`, in the order of ids. */
    async page({ accountId, ...filter }: OperatorFilter, after: number, limit: number): Promise<InstanceSummary[]> {
      const conditions = [
        sql`i.id > ${after}`,
        ...(accountId === undefined ? [] : [sql`i.account_id = ${accountId}`]),
        ...instanceFilterSql(filter),
      ]
      const statement = sql`
        SELECT i.id, i.account_id, a.email AS account, i.label, i.status, i.target_state, i.reason_code, i.machine_id,
          g.name AS gpu_model, i.num_gpus, i.interruptible, ${isChargedSql} AS charged, i.gpu_price_nanos, i.disk_nanos,
          i.created_at, i.destroyed_at
        FROM instances i JOIN accounts a ON a.id = i.account_id JOIN machines m ON m.id = i.machine_id
          JOIN gpu_models g ON g.id = m.gpu_model_id
        WHERE ${join(conditions, ' AND ')} ORDER BY i.id LIMIT ${limit}`
      const rows = await database.query(statement, summaryRow)
      return rows.map(row => ({ ...row, id: Number(row.id) }))
    },

    /** Also finds an instance that is destroyed. */
    async byId(id: bigint): Promise<InstanceForOperator> {
      const noProxies = { sshProxy: null, notebookProxy: null }
      const [instance] = await findInstances({ database, ...noProxies }, [sql`i.id = ${id}`], sql`i.id`, 1)
      if (!instance) throw noInstance(id)
      const { account, apiKeyId } = await database.prisma.instance.findUniqueOrThrow({
        where: { id },
        select: { apiKeyId: true, account: { select: { email: true } } },
      })
      return { instance, account: account.email, apiKeyId }
    },
  }
}

export function noInstance(id: bigint): DomainError<'NOT_FOUND'> {
  return new DomainError('NOT_FOUND', `There is no instance ${id}.`, { subject: null })
}
