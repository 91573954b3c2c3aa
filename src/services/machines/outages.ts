// Outages of simulated machines, to test how their instances react.

import { Prisma } from '../../database/generated/client.ts'
import { DomainError } from '../../domain/errors.ts'
import type { DataDeps } from '../deps.ts'

const { sql } = Prisma

export function outageOperations({ database }: DataDeps) {
  return {
    /** Makes the machine stop answering. Its containers keep running. */
    async unplug(id: number): Promise<void> {
      const engine = await database.prisma.engine.findUnique({ where: { machineId: id }, select: { machineId: true } })
      if (engine)
        throw new DomainError('INVALID_STATE', `Machine ${id} is not simulated: it has an engine.`, {
          ...{ instanceId: null, cause: null },
        })
      const found = await database.execute(sql`
        WITH machine AS (SELECT id FROM machines WHERE id = ${id}), outage AS (
          INSERT INTO simulated_outages (machine_id, since) SELECT id, ${database.nowSql} FROM machine ON CONFLICT DO NOTHING
        ) SELECT id FROM machine`)
      if (found === 0) throw new DomainError('NOT_FOUND', `There is no machine ${id}.`, { subject: null })
    },

    /** Makes the machine answer again. */
    async plug(id: number): Promise<void> {
      const found = await database.execute(sql`
        WITH outage AS (DELETE FROM simulated_outages WHERE machine_id = ${id}) SELECT id FROM machines WHERE id = ${id}`)
      if (found === 0) throw new DomainError('NOT_FOUND', `There is no machine ${id}.`, { subject: null })
    },
  }
}
