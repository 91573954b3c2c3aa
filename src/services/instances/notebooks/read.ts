import type { Database } from '../../../database/client.ts'
import { Prisma } from '../../../database/generated/client.ts'
import { bool, bytea, enumeration, int4, int8, jsonb, nullable } from '../../../database/row-types.ts'
import type { LaunchConfig } from '../../../domain/instances/instances.ts'
import { notebookModes } from '../../../domain/instances/notebook.ts'
import type { InstanceStatus, TargetState } from '../../../domain/instances/states.ts'

const { sql } = Prisma

/**
 * What decides about the notebooks of instances. Those that are destroyed, those of a disabled account, and those without a
 * notebook are left out.
 */
export async function readNotebooks(database: Pick<Database, 'query'>, instanceIds: readonly bigint[]) {
  // A condition on destroyed_at would make PostgreSQL walk the index of living instances, for a few ids.
  const rows = await database.query(
    sql`SELECT i.id, i.account_id, i.machine_id, i.status, i.target_state, i.launch -> 'env' AS env, i.secret_env,
      i.destroyed_at IS NOT NULL AS is_destroyed,
      (SELECT a.disabled_at IS NOT NULL FROM accounts a WHERE a.id = i.account_id) AS is_disabled
    FROM instances i WHERE i.id = ANY(${instanceIds.map(String)}::bigint[])
      AND i.launch ->> 'mode' = ANY(${[...notebookModes]}::text[])`,
    {
      ...{
        id: int8,
        accountId: int4,
        machineId: int4,
        status: enumeration<InstanceStatus>(),
        isDestroyed: bool,
        isDisabled: bool,
      },
      ...{ targetState: enumeration<TargetState>(), env: jsonb<LaunchConfig['env']>(), secretEnv: nullable(bytea) },
    },
  )
  return rows.filter(({ isDestroyed, isDisabled }) => !isDestroyed && !isDisabled)
}
