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
  /** What one gateway opens at most. */
  needed: number
}

/** Beside its pool, a gateway has a connection for wake-ups, one for metrics, and one while it starts. */
const besidePool = 3
/** Where a pooler has the pool, a gateway has one more for a moment, when the server has changed. */
const besidePooler = 4

export function neededConnections({ poolSize, isPooled }: { poolSize: number; isPooled: boolean }): number {
  return isPooled ? besidePooler : poolSize + besidePool
}

export function checkConnections(facts: ConnectionsFacts): Check {
  const { max, reserved, roleLimit, databaseLimit, used, gateways, needed } = facts
  const name = 'connections'
  const limits = [max - reserved, roleLimit, databaseLimit].filter(limit => limit >= 0)
  const most = Math.min(...limits)
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
  /** Whether a pooler answers in place of the server, and whether it lends one session to several clients. */
  isPooled: boolean
  sharesSessions: boolean
  /** Why it refuses connections of gateways; undefined if it does not. */
  refusal: string | undefined
  /** Whether DATABASE_DIRECT_URL leads past it. */
  hasDirectUrl: boolean
}

export function checkPooler({ setting, isPooled, sharesSessions, refusal, hasDirectUrl }: PoolerFacts): Check[] {
  const name = 'pooler'
  if (!isPooled) return []
  if (!sharesSessions) {
    if (refusal === undefined || hasDirectUrl)
      return [ok(name, `${setting} leads to a pooler, which keeps a session for each connection.`)]
    const advice = `Let the pooler ignore this parameter, or set ${setting} to PostgreSQL itself.`
    return [fail(name, `The pooler of ${setting} refuses what gateways ask for: ${refusal}.`, advice)]
  }
  const found = `${setting} leads to a pooler of transactions`
  if (setting !== 'DATABASE_URL')
    return [fail(name, `${found}, where no lock holds.`, `Set ${setting} to PostgreSQL itself.`)]
  if (hasDirectUrl) return [ok(name, `${found}, and DATABASE_DIRECT_URL past it.`)]
  const advice = 'Set DATABASE_DIRECT_URL to PostgreSQL itself, for the same database and role.'
  return [fail(name, `${found}, where a gateway hears of no changes by other gateways.`, advice)]
}
