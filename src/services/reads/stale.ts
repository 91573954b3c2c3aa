// Which reads may come from a replica: those of services that say so, in requests that change nothing. A face begins a scope
// for such a request. Outside of one, all is read from the primary.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Database } from '../../database/client.ts'
import type { Replica, ReplicaReads } from '../../database/replica/replica.ts'
import { type Snapshot, snapshot } from '../../database/transaction.ts'

type StaleScope = {
  run<T>(work: () => T): T
  /** How old the data of the answer may be; undefined if all of it came from the primary. */
  stalenessMs(): number | undefined
}
type Noted = { stalenessMs: number | undefined }
type ReadDeps = { database: Database; replica?: Replica | undefined }

/** `decline` leaves the read to the primary. The primary has none. */
export type Reads = Pick<ReplicaReads, 'query' | 'read' | 'nowSql'> & { decline?: () => never }
export type SnapshotReads = Pick<Snapshot, 'query' | 'read' | 'at' | 'nowSql'>

const scopes = new AsyncLocalStorage<Noted>()

export function createStaleScope(): StaleScope {
  const noted: Noted = { stalenessMs: undefined }
  return { run: work => scopes.run(noted, work), stalenessMs: () => noted.stalenessMs }
}

/** Reads from a replica if the request allows it and one is fresh enough, else from the primary. */
export async function readStale<T>(deps: ReadDeps, read: (from: Reads) => Promise<T>): Promise<T> {
  const found = await readFromReplica(deps, read)
  return found ? found.result : await read(deps.database)
}

/** The same for several statements that read as of one instant. */
export async function readStaleSnapshot<T>(deps: ReadDeps, read: (from: SnapshotReads) => Promise<T>): Promise<T> {
  const found = await readFromReplica(deps, read)
  return found ? found.result : await snapshot(deps.database, read)
}

async function readFromReplica<T>({ replica }: ReadDeps, read: (from: ReplicaReads) => Promise<T>) {
  const noted = scopes.getStore()
  const found = noted && (await replica?.read(read))
  if (found) noted.stalenessMs = Math.max(noted.stalenessMs ?? 0, found.stalenessMs)
  return found
}
