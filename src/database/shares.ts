// Requests and due work have connections of their own, so that no number of requests keeps due work waiting.

import type { Logger } from 'pino'
import { type Database, type DatabaseOptions, openDatabase } from './client.ts'
import { createEpochCheck } from './history/epoch.ts'
import { createDatabaseCheck } from './history/readiness.ts'
import { openReplica, type Replica } from './replica/replica.ts'

/** Due work gets a third of the connections, and each side at least two. */
export function shareConnections(poolSize: number): { requests: number; work: number } {
  const work = Math.max(2, Math.floor(poolSize / 3))
  return { requests: Math.max(2, poolSize - work), work }
}

/** A client waits for the answer, so its request soon gives up. Due work is in no hurry. */
const requestsWaitMs = 800

export type Databases = {
  /** For requests of clients. */
  requests: Database
  /** For due work, and for what the gateway says about itself. */
  work: Database
  /** For reads of clients that may be stale. */
  replica: Replica | undefined
  /** Why the gateway cannot use the database now; undefined if it can. */
  findProblem(): Promise<string | undefined>
  close(): Promise<void>
}

/** Opens one database with two pools, which share the clock. */
type SharesOptions = DatabaseOptions & { log: Logger; replica?: { url: string; maxLagMs: number } | null }

export function openDatabases({ poolSize, replica: standbys, log, ...options }: SharesOptions): Databases {
  const sizes = shareConnections(poolSize)
  const shared = { ...options, checkEpoch: createEpochCheck() }
  const requests = openDatabase({ ...shared, poolSize: sizes.requests, connectionTimeoutMs: requestsWaitMs })
  const work = openDatabase({ ...shared, poolSize: sizes.work, clock: requests.clock })
  const replica = standbys
    ? openReplica({ ...standbys, poolSize, primary: requests, log, now: options.now })
    : undefined
  const close = async () => void (await Promise.all([requests.close(), work.close(), replica?.close()]))
  return { requests, work, replica, findProblem: createDatabaseCheck(work.pool), close }
}
