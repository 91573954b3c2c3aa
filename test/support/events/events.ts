import type { Actor } from '../../../src/domain/actor.ts'
import type { EventKind } from '../../../src/domain/events/events.ts'
import { newSubjectOf } from '../../../src/domain/events/subject.ts'
import type { EventEdge } from '../../../src/services/events/watch.ts'

type Sql = (text: string, values?: unknown[]) => Promise<unknown>

export type WrittenEvent = {
  kind?: EventKind
  accountId: number
  instanceId?: bigint
  after?: object
  createdAt?: Date
}

/** Writes an event as the services do, in its own transaction or in the session's. */
export async function writeEvent(sql: Sql, { kind = 'CREDIT_GRANTED', accountId, ...rest }: WrittenEvent) {
  const after = rest.after ?? {}
  const { type, id } = newSubjectOf({ kind, accountId, instanceId: rest.instanceId, after: { ...after } })
  const columns = 'kind, account_id, instance_id, after, created_at, actor_kind, subject_type, subject_id'
  await sql(`INSERT INTO events (${columns}) VALUES ($1, $2, $3, $4, $5, 'system', $6, $7)`, [
    ...[kind, accountId, rest.instanceId ?? null, JSON.stringify(after), rest.createdAt ?? new Date(), type, id],
  ])
}

/** Takes this many events of a stream, or fewer if the stream ends. */
export async function takeEvents(stream: AsyncIterator<EventEdge>, count: number): Promise<EventEdge[]> {
  const taken: EventEdge[] = []
  while (taken.length < count) {
    const { value, done } = await stream.next()
    if (done) break
    taken.push(value)
  }
  return taken
}

/** The ids of all events of an account, in event order. */
export async function idsInOrder(
  sql: (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>,
  { accountId }: Pick<Actor, 'accountId'>,
): Promise<bigint[]> {
  const rows = await sql('SELECT id FROM events WHERE account_id = $1 ORDER BY xid, id', [accountId])
  return rows.map(({ id }) => BigInt(id as string))
}
