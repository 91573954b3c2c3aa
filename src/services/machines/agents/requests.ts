// Calls for hosts whose connection another gateway has. They travel through a table, and are deleted once answered.

import { randomUUID } from 'node:crypto'
import { Prisma } from '../../../database/generated/client.ts'
import { bytea, int4, nullable, text } from '../../../database/row-types.ts'
import { transaction } from '../../../database/transaction.ts'
import { currentTraceParent } from '../../../traces/remote.ts'
import type { Deps } from '../../deps.ts'
import { isHeldNowSql, noGateway } from './sql.ts'

const { sql } = Prisma

type Asked = { machineId: number; method: string; args: string }
/** `traceParent`: the span of the gateway that asks; null if there is none. */
export type AgentRequest = Asked & { id: string; traceParent: string | null }

const maxArgsBytes = 200_000
export const maxAnswerBytes = 8_000_000

const takenRow = { id: text, machineId: int4, method: text, args: bytea, traceParent: nullable(text) }

export type AgentRequests = ReturnType<typeof requestServices>

export function requestServices({
  database,
  secrets,
  gatewayId = noGateway,
}: Pick<Deps, 'database' | 'secrets' | 'gatewayId'>) {
  return {
    /** Asks the gateway that has the connection. Undefined if none has. */
    async ask({ machineId, method, args }: Asked, withinMs: number): Promise<string | undefined> {
      const sealed = secrets.seal(args)
      if (sealed.length > maxArgsBytes) throw new Error('The call is too large to be passed on to another gateway.')
      const [id, traceParent] = [randomUUID(), currentTraceParent()]
      const asked = await transaction(database, async tx => {
        const rows = await tx.execute(
          sql`INSERT INTO agent_requests (id, machine_id, method, args, deadline, trace_parent)
            SELECT ${id}::uuid, machine_id, ${method}, ${sealed}, ${tx.nowSql} + ${withinMs} * interval '1 millisecond',
              ${traceParent}::text
            FROM agents WHERE machine_id = ${machineId} AND gateway_id <> ${gatewayId}::uuid AND ${isHeldNowSql(tx.nowSql)}`,
        )
        if (rows > 0) tx.notifyAfterCommit('agents')
        return rows
      })
      return asked > 0 ? id : undefined
    },

    /** Takes the calls for these machines. Each is taken once: a command must not run twice. */
    async take(machineIds: readonly number[]): Promise<AgentRequest[]> {
      if (machineIds.length === 0) return []
      const rows = await database.query(
        sql`UPDATE agent_requests SET taken_at = ${database.nowSql}
          WHERE machine_id = ANY(${machineIds}::int[]) AND taken_at IS NULL AND deadline > ${database.nowSql}
          RETURNING id::text, machine_id, method, args, trace_parent`,
        takenRow,
      )
      return rows.map(({ args, ...row }) => ({ ...row, args: secrets.open(args) }))
    },

    async answer({ id, machineId }: Pick<AgentRequest, 'id' | 'machineId'>, answer: string): Promise<void> {
      await transaction(database, async tx => {
        await tx.execute(
          sql`UPDATE agent_requests SET answer = ${secrets.seal(answer)} WHERE machine_id = ${machineId} AND id = ${id}::uuid`,
        )
        tx.notifyAfterCommit('agents')
      })
    },

    async readAnswers(asked: readonly Pick<AgentRequest, 'id' | 'machineId'>[]): Promise<Map<string, string>> {
      if (asked.length === 0) return new Map()
      const rows = await database.query(
        sql`SELECT r.id::text, r.answer FROM unnest(
            ${asked.map(({ machineId }) => machineId)}::int[], ${asked.map(({ id }) => id)}::uuid[]) AS asked (machine_id, id)
          JOIN agent_requests r ON r.machine_id = asked.machine_id AND r.id = asked.id WHERE r.answer IS NOT NULL`,
        { id: text, answer: bytea },
      )
      return new Map(rows.map(({ id, answer }) => [id, secrets.open(answer)]))
    },

    async forget({ id, machineId }: Pick<AgentRequest, 'id' | 'machineId'>): Promise<void> {
      await database.execute(sql`DELETE FROM agent_requests WHERE machine_id = ${machineId} AND id = ${id}::uuid`)
    },
  }
}
