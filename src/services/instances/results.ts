import { randomBytes } from 'node:crypto'
import { Prisma } from '../../database/generated/client.ts'
import { bytea } from '../../database/row-types.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError } from '../../domain/errors.ts'
import {
  checkLogQuery,
  type LogQuery,
  maxResults,
  maxResultsBytes,
  printLog,
  resultLifetimeMs,
} from '../../domain/instances/results.ts'
import type { Deps } from '../deps.ts'
import { executeServices } from './execute.ts'
import { logServices } from './logs.ts'
import { instanceReadServices } from './read.ts'

const { sql } = Prisma

export function resultServices(deps: Deps) {
  const { database, secrets } = deps
  const { findLiving } = instanceReadServices(deps)
  const { logs } = logServices(deps)
  const { execute } = executeServices(deps)

  return {
    /** Saves lines of an instance's log, and returns the token that reads them. */
    async saveLogs(actor: Actor, id: bigint, query: LogQuery): Promise<string> {
      const instance = await findLiving(actor, id, 'instances.logs')
      checkLogQuery(query)
      return await saveResult(actor, printLog(await logs(actor, instance, query.tail), query))
    },

    /** Runs a command and saves its output. */
    async saveOutput(actor: Actor, id: bigint, command: string): Promise<string> {
      await findLiving(actor, id, 'instances.execute')
      const { output } = await execute(actor, id, command)
      return await saveResult(actor, output)
    },

    /** Reads a result. The unguessable token is the only authorization. */
    async read(token: string): Promise<string> {
      const [row] = await database.query(
        sql`SELECT text FROM results WHERE token_hash = ${hashOf(token)} AND expires_at > ${database.nowSql}`,
        { text: bytea },
      )
      if (row) return secrets.open(row.text)
      throw new DomainError(
        'NOT_FOUND',
        'This link has no result, or its result has expired. Request the result again.',
        {
          subject: null,
        },
      )
    },
  }

  /** Stores the text in the database, because any gateway may serve the link. */
  async function saveResult({ accountId }: Actor, text: string): Promise<string> {
    const token = randomBytes(32).toString('base64url')
    const sealed = secrets.seal(text)
    await database.execute(sql`
      WITH crowding AS (
        DELETE FROM results WHERE token_hash IN (
          SELECT token_hash FROM (
            SELECT token_hash, count(*) OVER newest AS place, sum(length(text)) OVER newest AS bytes
            FROM results WHERE account_id = ${accountId}
            WINDOW newest AS (ORDER BY expires_at DESC, token_hash ROWS UNBOUNDED PRECEDING)) AS r
          WHERE place >= ${maxResults} OR bytes > ${maxResultsBytes - sealed.length})
      ) INSERT INTO results (token_hash, account_id, text, expires_at)
      VALUES (${hashOf(token)}, ${accountId}, ${sealed}, ${database.nowSql} + ${resultLifetimeMs} * interval '1 millisecond')`)
    return token
  }

  function hashOf(token: string): Buffer {
    return secrets.digest('result', token)
  }
}
