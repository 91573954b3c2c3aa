// Reads the logs of any renter's instance.

import { Prisma } from '../../../database/generated/client.ts'
import { int4 } from '../../../database/row-types.ts'
import { invalidInput } from '../../../domain/errors.ts'
import type { LogLine } from '../../../domain/instances/containers.ts'
import { tailIssues } from '../../../domain/instances/logs.ts'
import { askMachine, type ContainerConsole } from '../../container-console.ts'
import type { DataDeps } from '../../deps.ts'
import { noInstance } from './list.ts'

const { sql } = Prisma

/** A host may be connected to a gateway that looks for calls of others every two seconds. */
const machineTimeoutMs = 15_000

type LogDeps = DataDeps & { readLog: ContainerConsole['logs'] }

export function instanceLogOperations({ database, readLog }: LogDeps) {
  return {
    /** The last lines of an instance's log; none if it has no container. */
    async lines(id: bigint, tail: number): Promise<LogLine[]> {
      const issues = tailIssues(tail, 1)
      if (issues.length > 0) throw invalidInput(issues)
      const [found] = await database.query(sql`SELECT machine_id, account_id FROM instances WHERE id = ${id}`, {
        machineId: int4,
        accountId: int4,
      })
      if (!found) throw noInstance(id)
      return await askMachine(machineTimeoutMs, signal => readLog({ ...found, instanceId: id }, { tail }, signal))
    },
  }
}
