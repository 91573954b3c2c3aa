import { randomBytes } from 'node:crypto'
import { Prisma } from '../../database/generated/client.ts'
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
import { instanceServices } from './read.ts'

const { sql } = Prisma

export function resultServices(deps: Deps) {
  const { database, secrets } = deps
  const { findLiving } = instanceServices(deps)
  const { logs } = logServices(deps)
  const { execute } = executeServices(deps)

  return {
    /** Keeps what an instance has printed, and gives the token that it is read by. */
    async saveLogs(actor: Actor, id: bigint, query: LogQuery): Promise<string> {
      const instance = await findLiving(actor, id, 'instances.logs')
      checkLogQuery(query)
      return await saveResult(actor, printLog(await logs(actor, instance, query.tail), query))
    },

    /** Runs a command, and keeps what it prints. */
    async saveOutput(actor: Actor, id: bigint, command: string): Promise<string> {
      await findLiving(actor, id, 'instances.execute')
      const { output } = await execute(actor, id, command)
      return await saveResult(actor, output)
    },

    /** For everybody who has the token, which nobody guesses. */
    async read(token: string): Promise<string> {
      const [row] = await database.rows(
        sql`SELECT text FROM results WHERE token_hash = ${hashOf(token)} AND expires_at > ${database.now}`,
      )
      if (row) return secrets.open(row[0] as Buffer)
      throw new DomainError('NOT_FOUND', 'There is nothing under this link, or not any more: ask for it again.', {
        subject: null,
      })
    },
  }

  /** Kept in the database, since any gateway may be asked for it. */
  async function saveResult({ accountId }: Actor, text: string): Promise<string> {
    const token = randomBytes(32).toString('base64url')
    const sealed = secrets.seal(text)
    await database.rows(sql`
      WITH crowding AS (
        DELETE FROM results WHERE token_hash IN (
          SELECT token_hash FROM (
            SELECT token_hash, count(*) OVER newest AS place, sum(length(text)) OVER newest AS bytes
            FROM results WHERE account_id = ${accountId}
            WINDOW newest AS (ORDER BY expires_at DESC, token_hash ROWS UNBOUNDED PRECEDING)) AS r
          WHERE place >= ${maxResults} OR bytes > ${maxResultsBytes - sealed.length})
      ) INSERT INTO results (token_hash, account_id, text, expires_at)
      VALUES (${hashOf(token)}, ${accountId}, ${sealed}, ${database.now} + ${resultLifetimeMs} * interval '1 millisecond')`)
    return token
  }

  function hashOf(token: string): Buffer {
    return secrets.digest('result', token)
  }
}
