import { type Check, fail, ok, warn } from '../check.ts'

export type ConnectionsFacts = {
  /** max_connections, and those of them that are reserved for superusers. */
  max: number
  reserved: number
  /** Limits of the role and of the database; -1 for none. */
  roleLimit: number
  databaseLimit: number
  /** Open now, of all programs. */
  used: number
  /** Gateways that are connected now. */
  gateways: number
  poolSize: number
}

/** Beside its pool, a gateway has a connection for wake-ups, one for metrics, and one while it starts. */
export const besidePool = 3

export function checkConnections(facts: ConnectionsFacts): Check {
  const { max, reserved, roleLimit, databaseLimit, used, gateways, poolSize } = facts
  const name = 'connections'
  const limits = [max - reserved, roleLimit, databaseLimit].filter(limit => limit >= 0)
  const most = Math.min(...limits)
  const needed = poolSize + besidePool
  const advice = "Raise max_connections or the role's limit in PostgreSQL, or lower DATABASE_POOL_SIZE."
  if (most < needed)
    return fail(name, `The database allows ${most} connections, and one gateway needs ${needed}.`, advice)
  const running = `${gateways} ${gateways === 1 ? 'runs' : 'run'} now`
  const found = `The database allows ${most} connections, and ${used} are open. A gateway needs up to ${needed}, and ${running}.`
  // Gateways open connections only as they need them, and one that replaces another runs beside it for a while.
  const isTight = most - used < needed || most < (gateways + 1) * needed
  return isTight ? warn(name, `${found} There is no room for another one.`, advice) : ok(name, found)
}

export type PoolerFacts = {
  setting: string
  isOwner: boolean
  /** Whether a pooler answers in place of the server, and whether it lends one session to several clients. */
  isPooled: boolean
  sharesSessions: boolean
}

export function checkPooler({ setting, isOwner, isPooled, sharesSessions }: PoolerFacts): Check[] {
  if (!isPooled) return []
  if (!sharesSessions) return [ok('pooler', `${setting} leads to a pooler, which keeps a session for each connection.`)]
  const loss = isOwner
    ? 'migrations cannot hold the lock of their session.'
    : 'a gateway hears of no changes by other gateways, and locks of sessions do not hold.'
  return [
    fail(
      'pooler',
      `${setting} leads to a pooler of transactions: ${loss}`,
      `Set ${setting} to PostgreSQL itself, or let the pooler keep sessions.`,
    ),
  ]
}
