// Reads the logs of any renter's instance.

import { Prisma } from '../../../database/generated/client.ts'
import { bool, int4 } from '../../../database/row-types.ts'
import { invalidInput, invalidState } from '../../../domain/errors.ts'
import type { LogLine } from '../../../domain/instances/containers.ts'
import { tailIssues } from '../../../domain/instances/logs.ts'
import { askMachine, type ContainerConsole } from '../../container-console.ts'
import type { DataDeps } from '../../deps.ts'
import type { Secrets } from '../../secrets.ts'
import { noInstance } from './list.ts'

const { sql } = Prisma

/** A host may be connected to a gateway that looks for calls of others every two seconds. */
const machineTimeoutMs = 15_000

type LogDeps = DataDeps & {
  /** Throws if it is not the secret of the gateways. */
  openSecrets(): Promise<Secrets>
  readLog(secrets: Secrets): ContainerConsole['logs']
}

export function instanceLogOperations({ database, openSecrets, readLog }: LogDeps) {
  return {
    /** The last lines of an instance's log; none if it has no container yet. */
    async lines(id: bigint, tail: number): Promise<LogLine[]> {
      const issues = tailIssues(tail, 1)
      if (issues.length > 0) throw invalidInput(issues)
      const [found] = await database.query(
        sql`SELECT machine_id, account_id, removed_at IS NOT NULL AS removed FROM instances WHERE id = ${id}`,
        { machineId: int4, accountId: int4, removed: bool },
      )
      if (!found) throw noInstance(id)
      const { removed, ...container } = found
      if (removed) throw invalidState(id, `Instance ${id} is destroyed, and its log went with its disk.`)
      const read = readLog(await openSecrets())
      return await askMachine(machineTimeoutMs, signal => read({ ...container, instanceId: id }, { tail }, signal))
    },
  }
}
