// The history of an account, an instance or a machine, for operators.

import { Prisma } from '../../database/generated/client.ts'
import { readingOf } from '../../database/selection/reading.ts'
import { type Event, eventReadOperations } from '../../domain/events/events.ts'
import type { DataDeps } from '../deps.ts'
import { eventSource, wholeEvent } from './sql.ts'

const { sql, join } = Prisma

/** An event must match all that is given. */
export type EventListFilter = {
  accountId?: number | undefined
  instanceId?: number | undefined
  /** Events of the instances that are or were on this machine. */
  machineId?: number | undefined
}

/** Gateways of a newer version may write others. */
const knownKinds = Object.keys(eventReadOperations)

export function eventListOperations({ database }: DataDeps) {
  return {
    events: {
      /** The newest events that match, oldest first. */
      async newest({ accountId, instanceId, machineId }: EventListFilter, count: number): Promise<Event[]> {
        const conditions = [
          sql`e.kind = ANY(${knownKinds})`,
          ...(accountId === undefined ? [] : [sql`e.account_id = ${accountId}`]),
          ...(instanceId === undefined
            ? []
            : [sql`e.subject_type = 'Instance' AND e.subject_id = ${String(instanceId)}::bigint`]),
          ...(machineId === undefined
            ? []
            : [
                sql`e.subject_type = 'Instance'
                  AND e.subject_id = ANY(ARRAY(SELECT id FROM instances WHERE machine_id = ${machineId}))`,
              ]),
        ]
        const reading = readingOf(eventSource, wholeEvent)
        const newestFirst = await database.read(
          sql`SELECT ${reading.columns} FROM events e WHERE ${join(conditions, ' AND ')}
            ORDER BY e.xid DESC, e.id DESC LIMIT ${count}`,
          reading,
        )
        return newestFirst.toReversed()
      },
    },
  }
}
